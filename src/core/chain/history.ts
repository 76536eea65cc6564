import { type ChainEvent, isBag, isList, type Json, StoreError } from "../contract/index.ts";
import { getOwn } from "../contract/internal.ts";
import { readHeader } from "./event.ts";
import { stateFrom, type Told } from "./state.ts";

/** The state after event `seq`. `events` are consecutive and hold a whole state at or before it. */
export function stateAt(events: readonly ChainEvent[], seq: number): Told {
  const [first] = events;
  const place = first === undefined ? -1 : seq - readHeader(first).seq;
  const event = events[place];
  if (event === undefined || readHeader(event).seq !== seq)
    throw new StoreError("STORE_CORRUPT", `Event ${seq} is not among these events: read the chain up to it.`);
  return stateFrom(events.slice(0, place + 1));
}

/** One place at which two states differ; a side is absent where the place is. */
export interface Difference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Where two states differ, for people: the smallest parts, in order, lists compared item by item. At most `limit` (default 10,000). */
export function diffStates(before: Json, after: Json, limit = 10_000): readonly Difference[] {
  const found: Difference[] = [];
  compare(before, after, "", found, limit);
  return found;
}

const segment = (key: string): string => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;

function compare(before: Json | undefined, after: Json | undefined, path: string, found: Difference[], limit: number): void {
  if (before === after || found.length >= limit) return;
  if (isBag(before) && isBag(after)) {
    for (const key of Object.keys(before)) compare(before[key], getOwn(after, key), path + segment(key), found, limit);
    for (const key of Object.keys(after))
      if (!Object.hasOwn(before, key)) compare(undefined, after[key], path + segment(key), found, limit);
  } else if (isList(before) && isList(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index += 1)
      compare(before[index], after[index], `${path}/${index}`, found, limit);
  } else if (JSON.stringify(before) !== JSON.stringify(after))
    found.push({ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
}
