// Owns: the record of a call in its event: writing and reading it. Does not own: values in it (stored-values.ts).
import { type ContentStore, isJsonObject, isList, type Json } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { storeValue, storeText, loadText, type Put } from "../stored-values.ts";
import type { GuestOutcome } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import { type ExportName, isExportName } from "../component/world.ts";

/** If the host calls are longer, all but the last are moved to the content store: an event is always read as a whole. */
const INLINE_TEXT = 262_144;
const INLINE_CALLS = 16;
/** The longest text of one content. */
const PIECE_TEXT = 4_194_304;

interface CallEnd {
  readonly end: string;
  readonly message?: string;
  readonly back?: WitValue;
}

/** Creates the record of a call, which suffices to run it again. Resolves once the contents that it stored are durable. */
export async function recordCall(
  call: { readonly export: string; readonly params: readonly WitValue[] },
  outcome: Omit<GuestOutcome, "host"> & CallEnd,
  put: Put,
): Promise<Json> {
  const [params, did, back] = await Promise.all([
    storeAll(call.params, put),
    Promise.all(outcome.did.map((one) => storeCall(one, put))),
    outcome.end === "ok" ? storeValue(outcome.back, put) : undefined,
  ]);
  return {
    call: { export: call.export, params },
    did: await moveOldCallsOut(did, put),
    end: outcome.end,
    ...omitUndefined({ message: outcome.message?.toWellFormed(), back }),
  };
}

const storeAll = (values: readonly WitValue[], put: Put): Promise<Json[]> => Promise.all(values.map((value) => storeValue(value, put)));

const storeCall = async ({ name, args, result }: GuestOutcome["did"][number], put: Put): Promise<Json> => ({
  name,
  args: await storeAll(args, put),
  result: await storeValue(result, put),
});

/** Replaces the first ones by `{ calls, kept }`: their number and the reference to their content. */
async function moveOldCallsOut(did: readonly Json[], put: Put): Promise<readonly Json[]> {
  if (did.length <= INLINE_CALLS) return did;
  const texts = did.map((one) => JSON.stringify(one));
  if (texts.reduce((sum, { length }) => sum + length, 0) <= INLINE_TEXT) return did;
  const pieces: string[][] = [];
  let room = 0;
  for (const text of texts.slice(0, -INLINE_CALLS)) {
    room -= text.length;
    const piece = pieces.at(-1);
    if (room < 0 || piece === undefined) {
      pieces.push([text]);
      room = PIECE_TEXT - text.length;
    } else piece.push(text);
  }
  const stored = await Promise.all(
    pieces.map(async (piece) => ({ calls: piece.length, ...(await storeText(`[${piece.join(",")}]`, put)) })),
  );
  return [...stored, ...did.slice(-INLINE_CALLS)];
}

/** The record of a call, as read from its event. */
export interface GuestRecord {
  readonly export: ExportName;
  readonly params: readonly Json[];
  readonly did: readonly { readonly name: string; readonly args: readonly Json[]; readonly result: Json }[];
  readonly end: string;
  readonly message?: string;
  readonly back?: Json;
}

/** Returns undefined if it is not the record of a call. Throws `MissingContent` if a stored part is missing. */
export async function readRecord(record: Json | undefined, get: ContentStore["get"]): Promise<GuestRecord | undefined> {
  if (!isJsonObject(record) || !isJsonObject(record["call"])) return undefined;
  const { call, did, end, message, back } = record;
  const { export: name, params } = call;
  if (typeof name !== "string" || !isExportName(name) || !isList(params) || !isList(did) || typeof end !== "string") return undefined;
  const calls: GuestRecord["did"][number][] = [];
  for (const one of await loadCalls(did, get)) {
    if (!isJsonObject(one) || typeof one["name"] !== "string" || !isList(one["args"])) return undefined;
    calls.push({ name: one["name"], args: one["args"], result: one["result"] ?? null });
  }
  return {
    export: name,
    params,
    did: calls,
    end,
    ...(typeof message === "string" ? { message } : {}),
    ...omitUndefined({ back }),
  };
}

async function loadCalls(did: readonly Json[], get: ContentStore["get"]): Promise<readonly Json[]> {
  const parts = await Promise.all(
    did.map(async (one) => {
      const stored = isJsonObject(one) ? one["kept"] : undefined;
      if (!isJsonObject(stored) || typeof stored["digest"] !== "string") return one;
      return loadText(stored["digest"], get);
    }),
  );
  return parts.flatMap((part) => (isList(part) ? part : [part]));
}
