import type { Log } from "./actor.ts";
import type { Clock } from "./clock.ts";
import { type Bag, isBag, type Json } from "./json.ts";

const QUIET_MS = 5_000;
/** What whoever reaches a server can make it say as often as they like. To be dropped takes its time. */
const OF_STRANGERS: ReadonlySet<unknown> = new Set([
  "request-refused",
  "request-unreadable",
  "connection-refused",
  "stream-refused",
  "client-refused",
  // Where the disk is full, each call of theirs that writes.
  "request-failed",
]);
const MOST_KINDS = 256;

interface Said {
  readonly at: number;
  unsaid: number;
}

/** Strangers may come as often as they like; what is written of them may not: of each event and reason one line in 5 s, `unsaid` counts the others. */
export function seldom(log: Log | undefined, clock: Clock): Log | undefined {
  if (log === undefined) return undefined;
  const said = new Map<string, Said>();
  return (level, data, logger) => {
    const line = isOfStrangers(data) ? counted(data, clock.now(), said) : data;
    if (line !== undefined) log(level, line, logger);
  };
}

const isOfStrangers = (data: Json): data is Bag => isBag(data) && OF_STRANGERS.has(data["event"]);

function counted(line: Bag, now: number, said: Map<string, Said>): Json | undefined {
  const kind = JSON.stringify(line);
  const before = said.get(kind);
  // Also where the clock was set back.
  if (before !== undefined && now >= before.at && now - before.at < QUIET_MS) {
    before.unsaid += 1;
    return undefined;
  }
  if (before === undefined && said.size >= MOST_KINDS) said.clear();
  said.set(kind, { at: now, unsaid: 0 });
  return before === undefined || before.unsaid === 0 ? line : { ...line, unsaid: before.unsaid };
}
