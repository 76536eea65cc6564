/** The lines of an export (docs/design/export.md), each way. Hashing is left to `dump-sum.ts`, events to `export.ts`. */
import {
  type ActorId,
  type Bag,
  isBag,
  type Json,
  type KeyedCall,
  type Letter,
  type Travelling,
  type Undelivered,
} from "../contract/index.ts";
import { isActorId } from "../contract/internal.ts";
import { isCall, isCount, isMessage, isRow, isTime, rowOf } from "./dump-row.ts";

export const DUMP_VERSION = 1;

/** How many of each an export holds. */
export interface DumpCounts {
  readonly actors: number;
  readonly events: number;
  readonly calls: number;
  readonly messages: number;
  readonly letters: number;
}

/** By its first key. */
export type DumpLine =
  | { readonly line: "troupe"; readonly at: number; readonly kind?: string }
  | { readonly line: "actor"; readonly actor: Travelling }
  | { readonly line: "key"; readonly call: KeyedCall }
  | { readonly line: "end"; readonly id: ActorId; readonly seq: number; readonly head: string }
  | { readonly line: "message"; readonly undelivered: Undelivered }
  | { readonly line: "letter"; readonly letter: Letter }
  | { readonly line: "total"; readonly counts: DumpCounts };

/** Its text, a sum not counted. */
export function dumpText(line: DumpLine): string {
  switch (line.line) {
    case "troupe":
      return JSON.stringify({ troupe: "export", version: DUMP_VERSION, at: line.at, kind: line.kind });
    case "actor": {
      const { id, seq, head, row } = line.actor;
      return JSON.stringify({ actor: id, seq, head, row: rowOf(row) });
    }
    case "key": {
      const { key, call, until, reply } = line.call;
      return JSON.stringify({ key, call, until, reply });
    }
    case "end":
      return JSON.stringify({ end: line.id, seq: line.seq, head: line.head });
    case "message": {
      const { message, failures } = line.undelivered;
      return JSON.stringify({ message, failures });
    }
    case "letter": {
      const { message, why, at } = line.letter;
      return JSON.stringify({ letter: message, why, at });
    }
    default: {
      const { actors, events, calls, messages, letters } = line.counts;
      return JSON.stringify({ total: { actors, events, calls, messages, letters } });
    }
  }
}

/** What that text says. Undefined: it is no such line, or not in the one form this version writes it in. */
export function readDumpText(text: string): DumpLine | undefined {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isBag(value) || !isShallow(value, DEEPEST)) return undefined;
  const line = lineIn(value);
  // A key twice, a key more, a number written otherwise: what two readers could take for two things is taken for none.
  return line !== undefined && dumpText(line) === text ? line : undefined;
}

/** The first key of such a text: what kind of line it is. */
export const firstKey = (text: string): string | undefined => /^\{"(\w{1,32})":/u.exec(text)?.[1];

/** Room for a message within a row, whose own arguments are bounded by 128. */
const DEEPEST = 256;

function isShallow(value: Json, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((inner: Json) => isShallow(inner, left - 1));
}

const isText = (value: unknown): value is string => typeof value === "string";

function lineIn(value: Bag): DumpLine | undefined {
  const { troupe, actor, key, end, message, letter, total, seq, head, row, at, kind, failures, why } = value;
  if (troupe === "export" && isTime(at) && (kind === undefined || isText(kind)))
    return { line: "troupe", at, ...(kind === undefined ? {} : { kind }) };
  if (isActorId(actor) && isCount(seq) && isText(head) && isRow(row)) return { line: "actor", actor: { id: actor, row, seq, head } };
  if (key !== undefined && isCall(value)) return { line: "key", call: value };
  if (isActorId(end) && isCount(seq) && isText(head)) return { line: "end", id: end, seq, head };
  if (isMessage(message) && isCount(failures)) return { line: "message", undelivered: { message, failures } };
  if (isMessage(letter) && isText(why) && isTime(at)) return { line: "letter", letter: { message: letter, why, at } };
  return isBag(total) && isCounts(total) ? { line: "total", counts: total } : undefined;
}

const COUNTED = ["actors", "events", "calls", "messages", "letters"] as const;
export const NONE_YET: DumpCounts = { actors: 0, events: 0, calls: 0, messages: 0, letters: 0 };
export const sameCounts = (one: DumpCounts, other: DumpCounts): boolean => COUNTED.every((what) => one[what] === other[what]);

const isCounts = (value: unknown): value is DumpCounts => isBag(value) && COUNTED.every((what) => isCount(value[what]));
