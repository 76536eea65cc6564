// Owns: the text form of recent events. Does not own: where it is stored (stored-actor.ts, archive.ts).
//
// The text is rewritten often, so it is short. Of an event it has the body, from which header and id follow, and a prefix of the id, by
// which the event is found on the server. What does not follow precedes the first event, and the first of each life: `life <uuid>
// <parent, or ->`. An exported line may replace any line.
//
// If a body is similar to the last complete one, only the difference is stored: both are split at their quotes, and the pieces that
// differ follow the id's prefix, each after its number: `<id>"2"<piece>"11"<piece>`.
import { exportLine, importLine, readHeader } from "../../core/chain/index.ts";
import { sealText } from "../../core/chain/internal.ts";
import { StoreError, type ActorId, type ChainEvent } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";

/** A prefix of an id is enough to find it. */
const ID_LENGTH = 12;
export const idStart = (id: string): string => id.slice(0, ID_LENGTH);

/** Appends an event of the same life. */
export function appendEvent(lines: string, event: ChainEvent): string {
  if (event.body === undefined) return `${lines}\n${exportLine(event)}`;
  const start = idStart(event.id);
  const reference = lastFullBody(lines);
  const differences = reference === undefined ? undefined : difference(reference, event.body);
  return differences === undefined ? `${lines}\n${start} ${event.body}` : `${lines}\n${start}${differences}`;
}

/** Starts a text with its first event. */
export const startLines = (event: ChainEvent, life: string, parent: string | null): string =>
  appendEvent(`life ${life} ${parent ?? "-"}`, event);

function lastFullBody(lines: string): string | undefined {
  for (let end = lines.length; end > 0;) {
    const at = lines.lastIndexOf("\n", end - 1) + 1;
    if (lines[at + ID_LENGTH] === " " && lines[at + ID_LENGTH + 1] === "{") return lines.slice(at + ID_LENGTH + 1, end);
    end = at - 1;
  }
  return undefined;
}

/** Undefined if that is not much shorter. */
function difference(reference: string, body: string): string | undefined {
  const [before, after] = [reference.split('"'), body.split('"')];
  if (before.length !== after.length) return undefined;
  let text = "";
  for (let n = 0; n < after.length; n += 1) if (after[n] !== before[n]) text += `"${n}"${after[n] ?? ""}`;
  return text.length < body.length * 0.75 ? text : undefined;
}

function applyDifference(reference: string, differences: string): string {
  const pieces = reference.split('"');
  const [, ...changes] = differences.split('"');
  for (let n = 0; n + 1 < changes.length; n += 2) {
    const at = Number(changes[n]);
    // A corrupt number could ask for more pieces than there is memory.
    if (pieces[at] === undefined) return "";
    pieces[at] = changes[n + 1] ?? "";
  }
  return pieces.join('"');
}

/** In order; `seq` is that of the first. Throws `STORE_CORRUPT` if a line is not an event. */
export function eventsIn(id: ActorId, text: string, seq: number): readonly ChainEvent[] {
  const events: ChainEvent[] = [];
  let position: ChainPosition = { life: "", parent: null };
  let reference = "";
  for (const line of text.split("\n")) {
    const mark = /^life (\S+) (\S+)$/.exec(line);
    if (mark !== null) {
      position = { life: mark[1] ?? "", parent: mark[2] === "-" ? null : (mark[2] ?? null) };
      continue;
    }
    const whole = line.startsWith("{");
    const event = whole ? importLine(line) : fromBody(id, seq + events.length, position, line, reference);
    if (!whole && line[ID_LENGTH] === " ") reference = line.slice(ID_LENGTH + 1);
    position = { life: whole ? readHeader(event).life : position.life, parent: event.id };
    events.push(event);
  }
  return events;
}

interface ChainPosition {
  readonly life: string;
  readonly parent: string | null;
}

function fromBody(actor: ActorId, seq: number, { life, parent }: ChainPosition, line: string, reference: string): ChainEvent {
  const rest = line.slice(ID_LENGTH);
  const text = rest.startsWith(" ") ? rest.slice(1) : applyDifference(reference, rest);
  const body = tryParseJson(text);
  const message = isObject(body) ? body["message"] : undefined;
  if (!isObject(message) || life === "") throw corruptEvent(actor, seq);
  const { at, action: type, cause } = message;
  if (typeof at !== "number" || typeof type !== "string") throw corruptEvent(actor, seq);
  const event = sealText({ actor, life, seq, parent, at, type, ...(typeof cause === "string" ? { cause } : {}) }, text);
  if (!line.startsWith(idStart(event.id))) throw corruptEvent(actor, seq);
  return event;
}

const corruptEvent = (id: ActorId, seq: number): StoreError =>
  new StoreError("STORE_CORRUPT", `Event ${seq} of ${id} is none: let nothing else write to these virtual objects.`);
