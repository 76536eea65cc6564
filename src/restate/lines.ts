/**
 * An actor's newest events as text that travels with each of its turns, so short: of an event its body is kept, from which its
 * header follows, and from that its id. The id's beginning is there as well: by it an event is found on the server.
 */
import { exportLine, importLine } from "../chain/index.ts";
import { sealText } from "../chain/internal.ts";
import { StoreError, type ActorId, type ChainEvent } from "../contract/index.ts";
import { isObject } from "./is-object.ts";
import { parsed, type Kept } from "./kept.ts";

/** So much of an id tells where to look. */
export const idStart = (id: string): string => id.slice(0, 12);

/** For an event a turn of this life has left. */
export const shortLine = (event: ChainEvent): string =>
  event.body === undefined ? exportLine(event) : `${idStart(event.id)} ${event.body}`;

/** In order. Throws `STORE_CORRUPT` where a line is no event. */
export function eventsOf(id: ActorId, { row, seq, own, lines, before }: Kept): readonly ChainEvent[] {
  let parent = before;
  return lines.split("\n").map((line, n) => {
    // An imported one may be without its body, or another's work.
    const event = line.startsWith("{")
      ? importLine(line)
      : fromBody(id, row.life, seq - own + 1 + n, parent, line.slice(line.indexOf(" ") + 1));
    if (!line.startsWith("{") && !line.startsWith(`${idStart(event.id)} `)) throw corrupt(id, seq - own + 1 + n);
    parent = event.id;
    return event;
  });
}

function fromBody(actor: ActorId, life: string, seq: number, parent: string | null, text: string): ChainEvent {
  const body = parsed(text);
  const message = isObject(body) ? body["message"] : undefined;
  if (!isObject(message)) throw corrupt(actor, seq);
  const { at, action: type, cause } = message;
  if (typeof at !== "number" || typeof type !== "string") throw corrupt(actor, seq);
  return sealText({ actor, life, seq, parent, at, type, ...(typeof cause === "string" ? { cause } : {}) }, text);
}

const corrupt = (id: ActorId, seq: number): StoreError =>
  new StoreError("STORE_CORRUPT", `Event ${seq} of ${id} is none: let nothing else write to these virtual objects.`);
