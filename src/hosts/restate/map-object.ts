// Owns: the virtual object of ordered maps, as the SDK serves it, and checks of its inputs. Does not own: the map (paged-map.ts).
import { EngineError, type JsonObject, type Json } from "../../core/contract/index.ts";
import { RETRY_FOREVER, type SdkDefinition, type RestateSdk } from "./sdk.ts";
import { isObject } from "./handler-inputs.ts";
import { isEntries, type Entry } from "./map-pages.ts";
import type { Names } from "./names.ts";
import { guarded } from "./outcome.ts";
import { PagedMap, type TakeQuery, LIST_ENTRIES, PagedReader, type Range } from "./paged-map.ts";

/** Inputs of the handlers; all of them answer a `Guarded`. */
export interface MapInputs {
  /** Answers whether it is new. */
  readonly put: { readonly key: string; readonly value: Json };
  /** At most 1,000 entries and 1 MiB of JSON. Answers how many are new. */
  readonly putMany: { readonly entries: readonly Entry[] };
  /** `PagedMap.patch`. Answers whether there is such a value. */
  readonly patch: { readonly key: string; readonly fields: JsonObject; readonly above?: string };
  /** `PagedMap.replace`. Answers whether it was replaced. */
  readonly replace: { readonly key: string; readonly before: Json; readonly value: Json };
  /** Answers whether it was there. */
  readonly delete: { readonly key: string };
  /** Answers a `TakeResult`. */
  readonly take: TakeQuery;
  /** Answers `{ found }`, or null. */
  readonly get: { readonly key: string };
  /** Answers a `MapList`. */
  readonly list: Range;
  /** Answers a number. */
  readonly count: null;
}

/** In UTF-16 code units. */
export const MAP_KEY_LENGTH = 1_024;
const MANY_BYTES = 1_048_576;

/** Longer than any client retries a write. */
export const WRITE_RETENTION_MS = 600_000;

/** The virtual object of ordered maps: one shard per key. */
export function mapObject(sdk: RestateSdk, names: Names): SdkDefinition {
  const options = { enableLazyState: true, ...RETRY_FOREVER };
  const { object } = sdk.handlers;
  // An invalid input is answered with a value: the server would retry an error for ever.
  const writing = <T>(read: (input: unknown) => T, run: (map: PagedMap, input: T) => Promise<unknown>): unknown =>
    object.exclusive({ ...options, idempotencyRetention: WRITE_RETENTION_MS }, (context, input) =>
      guarded(() => run(new PagedMap(context), read(input))),
    );
  const reading = <T>(read: (input: unknown) => T, run: (map: PagedReader, input: T) => Promise<unknown>): unknown =>
    object.shared(options, (context, input) => guarded(() => run(new PagedReader(context), read(input))));
  return sdk.object({
    name: names.map,
    handlers: {
      put: writing(readPut, (map, { key, value }) => map.put(key, value)),
      putMany: writing(readPutMany, (map, { entries }) => map.putMany(entries)),
      patch: writing(readPatch, (map, { key, fields, above }) => map.patch(key, fields, above)),
      replace: writing(readReplace, (map, { key, before, value }) => map.replace(key, before, value)),
      delete: writing(readKey, (map, { key }) => map.delete(key)),
      take: writing(readTake, (map, due) => map.take(due)),
      get: reading(readKey, async (map, { key }) => {
        const found = await map.get(key);
        return found === undefined ? null : { found };
      }),
      list: reading(readRange, (map, range) => map.list(range)),
      count: reading(
        () => null,
        (map) => map.count(),
      ),
    },
  });
}

const badCall = (): EngineError =>
  new EngineError("BAD_ID", "This is no call of a map that this version understands: call it through its client.");

/** A deeper value would overflow the stack when it becomes text, in every attempt again. */
const DEPTH = 256;
const isWithin = (depth: number, value: unknown): boolean =>
  !isObject(value) || (depth > 0 && Object.values(value).every((inner) => isWithin(depth - 1, inner)));

const isJson = (value: unknown): value is Json => value !== undefined && isWithin(DEPTH, value);
const isJsonObject = (value: unknown): value is JsonObject => isObject(value) && !Array.isArray(value) && isWithin(DEPTH, value);

function keyIn(value: unknown): string {
  if (typeof value !== "string" || value === "" || value.length > MAP_KEY_LENGTH)
    throw new EngineError("BAD_ID", `A key of a map is text of 1 to ${MAP_KEY_LENGTH} characters: take another.`);
  return value;
}

const limitIn = (value: unknown): number =>
  typeof value === "number" && value >= 1 ? Math.min(Math.floor(value), LIST_ENTRIES) : LIST_ENTRIES;

function readKey(input: unknown): MapInputs["get"] {
  if (!isObject(input)) throw badCall();
  return { key: keyIn(input["key"]) };
}

function readPut(input: unknown): MapInputs["put"] {
  if (!isObject(input)) throw badCall();
  const { key, value } = input;
  if (!isJson(value)) throw badCall();
  return { key: keyIn(key), value };
}

function readReplace(input: unknown): MapInputs["replace"] {
  if (!isObject(input)) throw badCall();
  const { key, before, value } = input;
  if (!isJson(before) || !isJson(value)) throw badCall();
  return { key: keyIn(key), before, value };
}

function readPutMany(input: unknown): MapInputs["putMany"] {
  if (!isObject(input) || !isEntries(input["entries"]) || !isWithin(DEPTH, input["entries"])) throw badCall();
  const { entries } = input;
  if (entries.length > LIST_ENTRIES || Buffer.byteLength(JSON.stringify(entries)) > MANY_BYTES)
    throw new EngineError(
      "STATE_TOO_LARGE",
      `These are more than ${LIST_ENTRIES} entries, or than ${MANY_BYTES} bytes: put fewer at a time.`,
    );
  for (const [key] of entries) keyIn(key);
  return { entries };
}

function readPatch(input: unknown): MapInputs["patch"] {
  if (!isObject(input) || !isJsonObject(input["fields"])) throw badCall();
  const { key, fields, above } = input;
  return { key: keyIn(key), fields, ...(typeof above === "string" && { above }) };
}

function readTake(input: unknown): TakeQuery {
  if (!isObject(input)) throw badCall();
  const { before, field, limit } = input;
  if (typeof before !== "number" || typeof field !== "string" || field.length > MAP_KEY_LENGTH) throw badCall();
  return { before, field, limit: limitIn(limit) };
}

function readRange(input: unknown): Range {
  if (!isObject(input)) throw badCall();
  const { after, prefix, limit } = input;
  for (const text of [after, prefix]) if (typeof text === "string" && text.length > MAP_KEY_LENGTH) throw badCall();
  return { limit: limitIn(limit), ...(typeof after === "string" && { after }), ...(typeof prefix === "string" && { prefix }) };
}
