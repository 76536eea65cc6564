/**
 * Events as text that is written again and again, so short: of an event its body is kept, from which its header follows, and from
 * that its id. The id's beginning is there as well: by it an event is found on the server. Before the first of them, and of each
 * life, stands what does not follow: `life <uuid> <parent, or ->`. A line as it is exported may stand in place of any.
 */
import { exportLine, importLine, readHeader } from "../chain/index.ts";
import { sealText } from "../chain/internal.ts";
import { StoreError, type ActorId, type ChainEvent } from "../contract/index.ts";
import { isObject } from "./is-object.ts";
import { parsed } from "./parsed.ts";

/** So much of an id tells where to look. */
export const idStart = (id: string): string => id.slice(0, 12);

/** For an event that follows the one before it, in the same life. */
export const lineOf = (event: ChainEvent): string => (event.body === undefined ? exportLine(event) : `${idStart(event.id)} ${event.body}`);

/** For an event that follows none here. */
export const firstLineOf = (event: ChainEvent, life: string, parent: string | null): string =>
  `life ${life} ${parent ?? "-"}\n${lineOf(event)}`;

/** In order; `seq` is of the first. Throws `STORE_CORRUPT` where a line is no event. */
export function eventsIn(id: ActorId, text: string, seq: number): readonly ChainEvent[] {
  const events: ChainEvent[] = [];
  let place: Place = { life: "", parent: null };
  for (const line of text.split("\n")) {
    const mark = /^life (\S+) (\S+)$/.exec(line);
    if (mark !== null) {
      place = { life: mark[1] ?? "", parent: mark[2] === "-" ? null : (mark[2] ?? null) };
      continue;
    }
    const whole = line.startsWith("{");
    const event = whole ? importLine(line) : fromBody(id, seq + events.length, place, line);
    place = { life: whole ? readHeader(event).life : place.life, parent: event.id };
    events.push(event);
  }
  return events;
}

interface Place {
  readonly life: string;
  readonly parent: string | null;
}

function fromBody(actor: ActorId, seq: number, { life, parent }: Place, line: string): ChainEvent {
  const text = line.slice(line.indexOf(" ") + 1);
  const body = parsed(text);
  const message = isObject(body) ? body["message"] : undefined;
  if (!isObject(message) || life === "") throw corrupt(actor, seq);
  const { at, action: type, cause } = message;
  if (typeof at !== "number" || typeof type !== "string") throw corrupt(actor, seq);
  const event = sealText({ actor, life, seq, parent, at, type, ...(typeof cause === "string" ? { cause } : {}) }, text);
  if (!line.startsWith(`${idStart(event.id)} `)) throw corrupt(actor, seq);
  return event;
}

const corrupt = (id: ActorId, seq: number): StoreError =>
  new StoreError("STORE_CORRUPT", `Event ${seq} of ${id} is none: let nothing else write to these virtual objects.`);
