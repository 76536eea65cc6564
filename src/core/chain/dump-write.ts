import { StoreError, type ActorId, type Exporter, type Leaving } from "../contract/index.ts";
import { compareIds, kindOf } from "../contract/internal.ts";
import { TravellingCheck } from "./dump-actor.ts";
import { ofActor } from "./dump-arriving.ts";
import { type DumpCounts, type DumpLine, dumpText, NONE_YET, readDumpText } from "./dump-format.ts";
import { LONGEST_LINE } from "./dump-lines.ts";
import { DumpSum } from "./dump-sum.ts";
import { exportLine, importLine } from "./event.ts";

export interface DumpOptions {
  /** Only actors of this kind, and messages to them. */
  readonly kind?: string;
  /** Told after each line. */
  readonly onProgress?: (counts: DumpCounts) => void;
}

/**
 * Everything that place holds, as the lines of docs/design/export.md, without their newlines. What would be refused on
 * arrival is refused here: throws `STORE_CORRUPT`, naming actor and event, where a chain does not verify, `STORE_FULL` where
 * a line would be longer than 16 MiB.
 */
export async function* writeDump(exporter: Exporter, { kind, onProgress }: DumpOptions = {}): AsyncGenerator<string, DumpCounts> {
  const sum = new DumpSum();
  const counts = { ...NONE_YET };
  const told = (line: string): string => {
    onProgress?.(counts);
    return line;
  };
  yield sum.sealed(textOf({ line: "troupe", at: exporter.at, ...(kind === undefined ? {} : { kind }) }, "The beginning"));
  sum.begin();
  let last: ActorId | undefined;
  for await (const actor of exporter.actors(kind)) {
    if (last !== undefined && compareIds(last, actor.id) >= 0) throw strange(`${actor.id} comes after ${last}`);
    last = actor.id;
    for await (const line of linesOfActor(actor, counts)) {
      sum.plain(line);
      yield told(line);
    }
    const { id, seq, head } = actor;
    yield told(sum.sealed(textOf({ line: "end", id, seq, head }, id)));
  }
  const wanted = (to: ActorId): boolean => kind === undefined || kindOf(to) === kind;
  for await (const undelivered of exporter.undelivered()) {
    const { id, to } = undelivered.message;
    if (!wanted(to)) continue;
    counts.messages += 1;
    yield told(sum.sealed(textOf({ line: "message", undelivered }, `Message ${id}`)));
  }
  for await (const letter of exporter.letters()) {
    const { id, to } = letter.message;
    if (!wanted(to)) continue;
    counts.letters += 1;
    yield told(sum.sealed(textOf({ line: "letter", letter }, `Letter ${id}`)));
  }
  yield sum.sealed(textOf({ line: "total", counts }, "The end"));
  return counts;
}

type Growing = { -readonly [K in keyof DumpCounts]: DumpCounts[K] };

async function* linesOfActor(actor: Leaving, counts: Growing): AsyncGenerator<string> {
  const { id, row, seq, head } = actor;
  yield textOf({ line: "actor", actor: { id, row, seq, head } }, id);
  const check = new TravellingCheck(actor);
  try {
    for await (const event of actor.events()) {
      check.event(event);
      const line = bounded(exportLine(event), `${id}, event ${check.seq}`);
      if (importLine(line).header !== event.header) throw strange(`event ${check.seq} cannot be written as a line`);
      counts.events += 1;
      yield line;
    }
    check.end();
    for await (const call of actor.calls()) {
      counts.calls += 1;
      yield textOf({ line: "key", call }, `${id}, the reply to ${call.key}`);
    }
  } catch (error) {
    throw ofActor(id, error, check.seq);
  }
  counts.actors += 1;
}

function textOf(line: DumpLine, what: string): string {
  const text = bounded(dumpText(line), what);
  if (readDumpText(text) === undefined) throw strange(`${what} is not of a form that could come back`);
  return text;
}

const strange = (what: string): StoreError =>
  new StoreError("STORE_CORRUPT", `The store holds what Troupe does not write: ${what}. Restore it from a copy.`);

/** Room for the sum. */
const SPARE = 256;

function bounded(text: string, what: string): string {
  // A character has at most three bytes: most texts need no counting.
  if (text.length * 3 <= LONGEST_LINE - SPARE || Buffer.byteLength(text) <= LONGEST_LINE - SPARE) return text;
  throw new StoreError("STORE_FULL", `${what} is longer than the ${LONGEST_LINE} bytes of a line: split its state over several actors.`);
}
