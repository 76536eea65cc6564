import { type ContentStore, isJsonObject, isList, type Json } from "../../../core/contract/index.ts";
import { kept, keptText, loadText, type Put } from "../stored-values.ts";
import type { GuestOutcome } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import { type ExportName, EXPORTS } from "../component/world.ts";

/** Host calls whose text is longer are kept apart, but for the last: an event is read whole. */
const INLINE_TEXT = 262_144;
const LAST = 16;
/** Of what is kept apart in one piece. */
const PIECE_TEXT = 4_194_304;

interface Told {
  readonly end: string;
  readonly message?: string;
  readonly back?: WitValue;
}

/** What of a call its event keeps: enough to make it again. Settles when what it put is durable. */
export async function recordOf(
  call: { readonly export: string; readonly params: readonly WitValue[] },
  outcome: Omit<GuestOutcome, "host"> & Told,
  put: Put,
): Promise<Json> {
  const [params, did, back] = await Promise.all([
    keptAll(call.params, put),
    Promise.all(outcome.did.map((one) => keptCall(one, put))),
    outcome.end === "ok" ? kept(outcome.back, put) : undefined,
  ]);
  return {
    call: { export: call.export, params },
    did: await shortened(did, put),
    end: outcome.end,
    ...(outcome.message === undefined ? {} : { message: outcome.message.toWellFormed() }),
    ...(back === undefined ? {} : { back }),
  };
}

const keptAll = (values: readonly WitValue[], put: Put): Promise<Json[]> => Promise.all(values.map((value) => kept(value, put)));

const keptCall = async ({ name, args, result }: GuestOutcome["did"][number], put: Put): Promise<Json> => ({
  name,
  args: await keptAll(args, put),
  result: await kept(result, put),
});

/** The first of them as `{ calls, kept }`: how many, and where. */
async function shortened(did: readonly Json[], put: Put): Promise<readonly Json[]> {
  if (did.length <= LAST) return did;
  const texts = did.map((one) => JSON.stringify(one));
  if (texts.reduce((sum, { length }) => sum + length, 0) <= INLINE_TEXT) return did;
  const pieces: string[][] = [];
  let room = 0;
  for (const text of texts.slice(0, -LAST)) {
    room -= text.length;
    const piece = pieces.at(-1);
    if (room < 0 || piece === undefined) {
      pieces.push([text]);
      room = PIECE_TEXT - text.length;
    } else piece.push(text);
  }
  const apart = await Promise.all(pieces.map(async (piece) => ({ calls: piece.length, ...(await keptText(`[${piece.join(",")}]`, put)) })));
  return [...apart, ...did.slice(-LAST)];
}

/** What an event keeps of a guest's call. */
export interface GuestRecord {
  readonly export: ExportName;
  readonly params: readonly Json[];
  readonly did: readonly { readonly name: string; readonly args: readonly Json[]; readonly result: Json }[];
  readonly end: string;
  readonly message?: string;
  readonly back?: Json;
}

const NAMES: ReadonlySet<string> = new Set(
  Object.entries(EXPORTS).flatMap(([of, functions]) => Object.keys(functions).map((name) => `${of}.${name}`)),
);
const isExport = (name: Json | undefined): name is ExportName => typeof name === "string" && NAMES.has(name);

/** Undefined: it is none. Throws `MissingContent` if a part that is stored separately is missing. */
export async function readRecord(record: Json | undefined, get: ContentStore["get"]): Promise<GuestRecord | undefined> {
  if (!isJsonObject(record) || !isJsonObject(record["call"])) return undefined;
  const { call, did, end, message, back } = record;
  const { export: name, params } = call;
  if (!isExport(name) || !isList(params) || !isList(did) || typeof end !== "string") return undefined;
  const calls: GuestRecord["did"][number][] = [];
  for (const one of await whole(did, get)) {
    if (!isJsonObject(one) || typeof one["name"] !== "string" || !isList(one["args"])) return undefined;
    calls.push({ name: one["name"], args: one["args"], result: one["result"] ?? null });
  }
  return {
    export: name,
    params,
    did: calls,
    end,
    ...(typeof message === "string" ? { message } : {}),
    ...(back === undefined ? {} : { back }),
  };
}

async function whole(did: readonly Json[], get: ContentStore["get"]): Promise<readonly Json[]> {
  const parts = await Promise.all(
    did.map(async (one) => {
      const apart = isJsonObject(one) ? one["kept"] : undefined;
      if (!isJsonObject(apart) || typeof apart["digest"] !== "string") return one;
      return loadText(apart["digest"], get);
    }),
  );
  return parts.flatMap((part) => (isList(part) ? part : [part]));
}
