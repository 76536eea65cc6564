import type { Log } from "./actor.ts";
import type { Clock } from "./clock.ts";
import { type Bag, isBag } from "./json.ts";
import { own } from "./own.ts";

const QUIET_MS = 5_000;
const MOST_KINDS = 256;

/**
 * Lines that report a failure or a refusal: whoever reaches a server can cause them as often as they like. By their endings, so that
 * a new one is limited too. What an author logs has other names, and reloads come from the author's own saves.
 */
const CAUSED_BY_CALLERS = /^fault$|^stray-|^(?!reload-).*-(?:failed|fault|refused|dropped|unreadable|timeout|full|long|ended|kept|slow)$/;

/** What distinguishes one kind of line from another. Not ids, which a caller can make up: each would be a line of its own. */
const OF_KIND = ["door", "where", "reason", "code", "error", "name", "text", "place", "type", "offer", "capability_id", "method", "action"];

interface Written {
  readonly at: number;
  unsaid: number;
}

/**
 * Rate-limits log lines that callers can cause: of each event and kind one line in 5 s. `unsaid` counts those left out since the
 * one before, of lines that bring such a count too.
 */
export class RepeatedLines {
  readonly #clock: Pick<Clock, "now">;
  readonly #written = new Map<string, Written>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The line as it is to be written; undefined: it is left out. */
  take(line: Bag): Bag | undefined {
    const { event } = line;
    if (typeof event !== "string" || !CAUSED_BY_CALLERS.test(event)) return line;
    const now = this.#clock.now();
    const kind = this.#room(kindOf(line, event), event, now);
    const before = this.#written.get(kind);
    const brought = line["unsaid"];
    const more = typeof brought === "number" ? brought : 0;
    // A clock that was set back keeps no line back.
    if (before !== undefined && now >= before.at && now - before.at < QUIET_MS) {
      before.unsaid += 1 + more;
      return undefined;
    }
    this.#written.set(kind, { at: now, unsaid: 0 });
    const unsaid = more + (before?.unsaid ?? 0);
    return unsaid === 0 ? line : { ...line, unsaid };
  }

  /** Where very many kinds come at once, all of an event count as one. */
  #room(kind: string, event: string, now: number): string {
    if (this.#written.has(kind) || this.#written.size < MOST_KINDS) return kind;
    for (const [one, { at }] of this.#written) if (now < at || now - at >= QUIET_MS) this.#written.delete(one);
    return this.#written.size < MOST_KINDS ? kind : event;
  }
}

function kindOf(line: Bag, event: string): string {
  const kind: unknown[] = [event];
  for (const name of OF_KIND) kind.push(own(line, name));
  // A word, not a sentence, which may name whom it is about.
  const { why, actor } = line;
  kind.push(typeof why === "string" && /^[\w-]{1,32}$/.test(why) ? why : undefined);
  // There are only so many damaged rows, and whoever runs the server has to know them all.
  kind.push(line["code"] === "STORE_CORRUPT" ? actor : undefined);
  return JSON.stringify(kind);
}

/** The same as a log. */
export function withoutRepeats(log: Log | undefined, clock: Pick<Clock, "now">): Log | undefined {
  if (log === undefined) return undefined;
  const lines = new RepeatedLines(clock);
  return (level, data, logger) => {
    const line = isBag(data) ? lines.take(data) : data;
    if (line === undefined) return;
    if (logger === undefined) log(level, line);
    else log(level, line, logger);
  };
}
