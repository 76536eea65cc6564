import { readFile } from "node:fs/promises";
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWK, type JWTVerifyGetKey } from "jose";
import { type Clock, isBag, TroupeError } from "../../../core/contract/index.ts";
import { withoutBom } from "../../../core/contract/internal.ts";
import { isLoopback } from "../address.ts";

/** Where an issuer's public keys are: an `https:` address, a file's path, or the set itself. */
export type KeySource = string | { readonly keys: readonly Readonly<Record<string, unknown>>[] };

/** The keys of one issuer. */
export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** Fetches a remote set again, at most every 30 s. False: it was not fetched. */
  refresh(): Promise<boolean>;
}

const FETCH_MS = 5_000;
const ANSWER_BYTES = 262_144;
const REMEMBERED_MS = 600_000;
const COOLDOWN_MS = 30_000;
const FAILED_MS = 5_000;

const isKey = (value: unknown): value is JWK => isBag(value) && typeof value["kty"] === "string";

function checkedSet(value: unknown, what: string): JSONWebKeySet {
  if (isBag(value) && Array.isArray(value["keys"])) {
    const keys: unknown[] = structuredClone(value["keys"]);
    if (keys.length > 0 && keys.every(isKey)) return { keys };
  }
  throw new TroupeError("DOOR_OPTION", `${what} is not a JSON Web Key Set: it needs {"keys":[{"kty":…}]}.`);
}

/** Reads at most `ANSWER_BYTES`, follows no redirect: what answers is not trusted to be small or to be where it was. */
async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, redirect: "error" });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.byteLength;
    if (size > ANSWER_BYTES) throw new TroupeError("DOOR_OPTION", `The key set at ${url} is larger than ${ANSWER_BYTES} bytes.`);
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (answer.status !== 200 || !holdsKeys(bytes)) throw new TroupeError("DOOR_OPTION", `There is no key set at ${url} now.`);
  return new Response(bytes, { headers: answer.headers });
}

function holdsKeys(bytes: Buffer): boolean {
  try {
    const set: unknown = JSON.parse(withoutBom(bytes.toString()));
    return isBag(set) && Array.isArray(set["keys"]) && set["keys"].every((key) => isBag(key));
  } catch {
    return false;
  }
}

/** The same, and what failed fails again for a while without asking: every token makes us ask that a stranger sends. */
function fetchPatiently(clock: Clock): typeof fetchBounded {
  let failed: { readonly error: unknown; readonly at: number } | undefined;
  return async (url, init) => {
    const since = failed === undefined ? Infinity : clock.now() - failed.at;
    if (failed !== undefined && since >= 0 && since < FAILED_MS) throw failed.error;
    try {
      return await fetchBounded(url, init);
    } catch (error) {
      failed = { error, at: clock.now() };
      throw error;
    }
  };
}

const localSet = (set: JSONWebKeySet): KeySet => ({ find: createLocalJWKSet(set), refresh: () => Promise.resolve(false) });

/** A remote set is fetched on the first token and again when an unknown key appears, at most every 30 s; where it cannot be had, every 5 s. */
export async function keySet(source: KeySource, clock: Clock): Promise<KeySet> {
  if (typeof source !== "string") return localSet(checkedSet(source, "The key set given"));
  if (!/^https?:/i.test(source)) {
    const text = await readFile(source, "utf8").catch((cause: unknown) => {
      throw new TroupeError("DOOR_OPTION", `The key set ${source} cannot be read: give an https address or a file's path.`, { cause });
    });
    let parsed: unknown;
    try {
      parsed = JSON.parse(withoutBom(text));
    } catch (cause) {
      throw new TroupeError("DOOR_OPTION", `The key set ${source} is not JSON.`, { cause });
    }
    return localSet(checkedSet(parsed, `The key set ${source}`));
  }
  const url = new URL(source);
  if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
    throw new TroupeError("DOOR_OPTION", `The key set ${source} must be fetched over https: whoever can change it can sign in as anyone.`);
  }
  const find = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: REMEMBERED_MS,
    [customFetch]: fetchPatiently(clock),
  });
  return {
    find,
    async refresh() {
      if (find.coolingDown) return false;
      await find.reload();
      return true;
    },
  };
}
