// Owns: parsing a manifest: its keys, its handlers and what these grant. Does not own: finding it (manifest-finder.ts).
import { parse, TomlError, type TomlTable } from "smol-toml";
import { getOwn, omitUndefined } from "../../../core/contract/internal.ts";
import { type Grants, type Manifest, ManifestError } from "./manifest.ts";
import { ManifestTable } from "./toml-table.ts";

type MutableGrants = { -readonly [K in keyof Grants]: Grants[K] };

const HOUR_MS = 3_600_000;
const LONGEST_SLEEP_MS = 2 ** 31 - 1;
const MOST_RANDOM_BYTES = 1_048_576;
const MOST_INT = 2n ** 63n - 1n;
const NAME = 256;
const PATH = 4_096;

/**
 * What a handler in a manifest grants, by its `type`. `fields`: its `config`, or its own keys if it has none.
 * If two handlers have the same type, the later one wins.
 */
export const HANDLERS: Readonly<Record<string, (grants: MutableGrants, fields: ManifestTable) => void>> = {
  runtime: (grants) => void (grants.runtime = true),
  "message-server": (grants) => void (grants.messageServer = true),
  supervisor: (grants) => void (grants.supervisor = true),
  store: (grants) => void (grants.store = true),
  timing(grants, fields) {
    const maxSleepMs = Number(fields.integer("max_sleep_duration", 0, LONGEST_SLEEP_MS) ?? HOUR_MS);
    const minSleepMs = Number(fields.integer("min_sleep_duration", 0, LONGEST_SLEEP_MS) ?? 1);
    if (minSleepMs > maxSleepMs)
      throw fields.error("min_sleep_duration", `The shortest sleep (${minSleepMs} ms) is longer than the longest (${maxSleepMs} ms).`);
    grants.timing = { minSleepMs, maxSleepMs };
  },
  random(grants, fields) {
    const maxBytes = Number(fields.integer("max_bytes", 0, MOST_RANDOM_BYTES) ?? MOST_RANDOM_BYTES);
    grants.random = { maxBytes, maxInt: fields.integer("max_int", 0, MOST_INT) ?? MOST_INT };
  },
  // In Theater, no list means all variables. Here it means none, since a server's environment contains secrets.
  environment(grants, fields) {
    grants.environment = {
      allowed: fields.strings("allowed_vars", NAME) ?? [],
      denied: fields.strings("denied_vars", NAME) ?? [],
      prefixes: fields.strings("allowed_prefixes", NAME) ?? [],
      listAll: fields.boolean("allow_list_all") ?? false,
    };
  },
  filesystem(grants, fields) {
    const path = fields.string("path", PATH);
    const own = fields.boolean("new_dir") ?? false;
    if (path === "") throw fields.error("path", "path is empty; name a directory, or leave it away for one of the guest's own.");
    grants.filesystem = { ...(path === undefined || own ? {} : { path }), write: !(fields.boolean("read_only") ?? false) };
  },
  // Unlike in Theater, hosts or URL prefixes must be listed. Without a list, none are allowed.
  "http-client": (grants, fields) => void (grants.httpClient = { allowed: fields.strings("allowed", 2_048) ?? [] }),
};

/** Handlers of Theater that are not supported, and the reason. */
export const UNSUPPORTED_HANDLERS: Readonly<Record<string, string>> = {
  process: "Guests start no processes here: let an actor that is no guest do it, and send to that.",
  "http-framework": "Guests serve no HTTP here: the gateway does, and calls them.",
};

/** The longest text of a manifest. */
export const MANIFEST_BYTES = 65_536;

const DEEPEST = 16;
const PROSE = 16_384;
const REFERENCE = 4_096;
const MEBIBYTE = 1_048_576;
const DAY_MS = 86_400_000;
const MOST_MEMORY_MB = 4_096;

/**
 * Reads a manifest of any version of Theater: `component_path`, `component` or `package`; `init_state` or `initial_state`; `[[handlers]]`
 * with a `config`, or `[[handler]]` with inline fields. We add `on_error` and `[limits]`. Other keys are ignored, as in Theater.
 * A directory of `filesystem` is not resolved. Throws `ManifestError` with line and column.
 */
export function readManifest(text: string): Manifest {
  if (Buffer.byteLength(text) > MANIFEST_BYTES)
    throw new ManifestError(
      "TOO_LARGE",
      `A manifest has at most ${MANIFEST_BYTES} bytes, this has ${Buffer.byteLength(text)}. Shorten it.`,
    );
  const table = new ManifestTable(parseToml(text), [], text);
  const name = table.string("name", NAME);
  if (name === undefined || name.trim() === "") throw table.error("name", 'A manifest names its actor; write name = "…" at its beginning.');
  const version = table.string("version", NAME);
  const description = table.string("description", PROSE);
  const component = aliasedString(table, ["component", "component_path", "package"]);
  const initialState = aliasedString(table, ["init_state", "initial_state"]);
  return {
    name,
    ...omitUndefined({ version, description, component, initialState }),
    saveChain: table.boolean("save_chain") ?? false,
    grants: grantsOf(table),
    onError: onErrorOf(table),
    limits: limitsOf(table),
    text,
  };
}

function parseToml(text: string): TomlTable {
  try {
    return parse(text, { integersAsBigInt: "asNeeded", unsafeKeyBehaviour: "drop", maxDepth: DEEPEST });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The other lines of its message quote the text, which may be a private file that is not a manifest.
    const [firstLine = ""] = error.message.split("\n");
    const what = firstLine.replace(/^Invalid TOML document: /u, "");
    throw new ManifestError("BAD_MANIFEST", `This is no TOML: ${what}. Mend it there.`, error);
  }
}

function aliasedString(table: ManifestTable, keys: readonly string[]): string | undefined {
  let found: { readonly key: string; readonly value: string } | undefined;
  for (const key of keys) {
    const value = table.string(key, REFERENCE);
    if (value === undefined) continue;
    if (value === "") throw table.error(key, `${key} is empty; name a file, or store:<label>.`);
    if (found !== undefined && found.value !== value)
      throw table.error(key, `${found.key} and ${key} say different things; write one of them only.`);
    found = { key, value };
  }
  return found?.value;
}

function grantsOf(table: ManifestTable): Grants {
  // In April 2025, all guests had it, and it could not be listed.
  const grants: Grants = table.keys().includes("component_path") ? { messageServer: true } : {};
  for (const handler of [...table.tables("handlers"), ...table.tables("handler")]) {
    const type = handler.string("type", NAME);
    const known = Object.keys(HANDLERS).join(", ");
    if (type === undefined) throw handler.error("type", `A handler has a type; write type = "…" with one of: ${known}.`);
    const grant = getOwn(HANDLERS, type);
    if (grant === undefined)
      throw handler.error(
        "type",
        getOwn(UNSUPPORTED_HANDLERS, type) ?? `No handler here is called ${JSON.stringify(type)}; there are: ${known}.`,
      );
    grant(grants, handler.table("config") ?? handler);
  }
  return grants;
}

function onErrorOf(table: ManifestTable): Manifest["onError"] {
  const value = table.string("on_error", NAME) ?? "pause";
  if (value === "pause" || value === "restart") return value;
  throw table.error("on_error", 'on_error is "pause" (it waits for a restart) or "restart" (it goes on from its last state).');
}

function limitsOf(table: ManifestTable): Manifest["limits"] {
  const limits = table.table("limits");
  if (limits === undefined) return {};
  // Theater does not have this table, so unknown keys are errors: a misspelled limit would have no effect.
  const unknown = limits.keys().find((key) => key !== "call_ms" && key !== "memory_mb");
  if (unknown !== undefined) throw limits.error(unknown, `No limit is called ${JSON.stringify(unknown)}; there are call_ms and memory_mb.`);
  const callMs = limits.integer("call_ms", 1, DAY_MS);
  const memory = limits.integer("memory_mb", 1, MOST_MEMORY_MB);
  return {
    ...(callMs === undefined ? {} : { callMs: Number(callMs) }),
    ...(memory === undefined ? {} : { memoryBytes: Number(memory) * MEBIBYTE }),
  };
}
