// Owns: what bounds clients: token buckets, memory of messages in flight, rate-limited log lines. Does not own: where the limits
// apply (mcp/gateway, mcp/transport).

import type { Log } from "./actor.ts";
import { memoizeByString } from "./collections.ts";
import type { Caller } from "./door.ts";
import { type Bag, countValues, isBag, getOwn } from "./json.ts";
import type { Clock } from "./time.ts";

/** `burst` at once, refilled with `perSecond`. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

// More keys than this at once and those longest not drawn from begin anew with a full bucket: memory stays bounded.
const MAX_BUCKETS = 20_000;

// To look at the clock and to count by it costs a short call more than the rest of this: where there are many tokens, some are
// drawn ahead. When it fills again it lacks as many, so that nobody is let through whom a bucket looked at each time would hold back.
const DRAWN = 16;

interface Bucket {
  tokens: number;
  /** When they were as many. */
  at: number;
  /** How many were drawn ahead then, and how many of those are left. */
  drawn: number;
  left: number;
}

/** Token buckets by key. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a token for that key: 0. Or the whole seconds until there is one. */
  take(key: string, rate: Rate): number {
    const bucket = this.#buckets.get(key) ?? this.#begin(key, rate.burst);
    if (bucket.left === 0) return this.#draw(bucket, rate);
    bucket.left -= 1;
    return 0;
  }

  /** Undoes a `take` of what turned out to be free. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens += 1;
  }

  #draw(bucket: Bucket, { perSecond, burst }: Rate): number {
    const now = this.#clock.now();
    // A clock that was set back says nothing of how long it was.
    if (now < bucket.at) bucket.at = now;
    if (now > bucket.at) {
      bucket.tokens = Math.min(burst - bucket.drawn, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      bucket.at = now;
      // Those are taken, and counted: from now on it fills to the brim.
      bucket.drawn = 0;
    }
    if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / Math.max(perSecond, 0.001)));
    bucket.drawn = bucket.left = Math.min(DRAWN, Math.floor(bucket.tokens / DRAWN));
    bucket.tokens -= 1 + bucket.drawn;
    return 0;
  }

  #begin(key: string, burst: number): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#forgetOldest();
    const bucket = { tokens: burst, at: this.#clock.now(), drawn: 0, left: 0 };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #forgetOldest(): void {
    const stale = [...this.#buckets].toSorted(([, a], [, b]) => a.at - b.at).slice(0, MAX_BUCKETS / 10);
    for (const [key] of stale) this.#buckets.delete(key);
  }
}

const LOCAL: Rate = { perSecond: 20_000, burst: 200_000 };
const REMOTE: Rate = { perSecond: 200, burst: 2_000 };

export const isLocal = memoizeByString((peer) => /^(?:127\.|\[?::1\b|\[?::ffff:127\.|unix|local|stdio|\/)/.test(peer));

/** Where nothing is said. Nobody floods a server over its own loopback by accident of being far away. */
export const defaultRate = (peer: string | undefined): Rate => (peer === undefined || isLocal(peer) ? LOCAL : REMOTE);

/** Up to here a message costs no thought: as many as may wait hold little. In bytes, or characters. */
const LIGHT = 4_096;
/** About what a value takes beside its text: `[{},{}]` takes twenty times as much memory as it has characters. */
const VALUE = 32;

export const isLarge = (message: Uint8Array | string): boolean => message.length > LIGHT;

/**
 * What heavy messages take that are being worked on, all clients together. Each may be within its own bounds, and as many as may wait
 * for actors or for a person be more than the process can hold. One caller has half of the room at most.
 */
export class InFlightMemoryBudget {
  readonly #most: number;
  readonly #refusal: () => Error;
  readonly #callers = new Map<string, number>();
  #held = 0;

  /** In bytes, about. `refusal`: what is thrown where there is no room. */
  constructor(most: number, refusal: () => Error) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /** Counts the message until `run` has settled. Throws where there is no room; for a first message there always is. */
  during<T>(message: Uint8Array | string, { principal, peer }: Caller, run: () => T | Promise<T>): T | Promise<T> {
    const who = principal ?? `peer ${peerOf(peer)}`;
    const weight = weightOf(message);
    this.#take(who, weight);
    let result: T | Promise<T> | undefined;
    try {
      result = run();
    } finally {
      if (!(result instanceof Promise)) this.#letGo(who, weight);
    }
    return result instanceof Promise ? result.finally(() => this.#letGo(who, weight)) : result;
  }

  #take(who: string, weight: number): void {
    const already = this.#callers.get(who) ?? 0;
    if (this.#held > 0 && this.#held + weight > this.#most) throw this.#refusal();
    if (already > 0 && already + weight > this.#most / 2) throw this.#refusal();
    this.#held += weight;
    this.#callers.set(who, already + weight);
  }

  #letGo(who: string, weight: number): void {
    this.#held -= weight;
    const left = (this.#callers.get(who) ?? 0) - weight;
    if (left > 0) this.#callers.set(who, left);
    else this.#callers.delete(who);
  }
}

/** About how much memory a JSON message takes once it is read. */
function weightOf(message: Uint8Array | string): number {
  const { values, empty } = countValues(message);
  return message.length + VALUE * (values - 1 + empty);
}

const GROUPS = 8;
/** Of those, what a network is given; the rest it gives to whom it likes. */
const NETWORK = 4;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:]*$/i;

const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));

const network = memoizeByString((address): string => {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [bare = ""] = address.split("%");
  if (!IPV6.test(bare)) return address;
  const [head = "", tail = ""] = bare.split("::");
  const [before, after] = [groups(head), groups(tail)];
  const between = Array.from({ length: Math.max(0, GROUPS - before.length - after.length) }, () => "0");
  const first = [...before, ...between, ...after].slice(0, NETWORK);
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
});

/** Who is to be counted for an address: whoever has one of IPv6 has 2^64 of them, so all of its network is one. Empty: nobody knows. */
export const peerOf = (address: string | undefined): string => (address === undefined ? "" : network(address));

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
export class RateLimitedLines {
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
  for (const name of OF_KIND) kind.push(getOwn(line, name));
  // A word, not a sentence, which may name whom it is about.
  const { why, actor } = line;
  kind.push(typeof why === "string" && /^[\w-]{1,32}$/.test(why) ? why : undefined);
  // There are only so many damaged rows, and whoever runs the server has to know them all.
  kind.push(line["code"] === "STORE_CORRUPT" ? actor : undefined);
  return JSON.stringify(kind);
}

/** The same as a log. */
export function rateLimitedLog(log: Log | undefined, clock: Pick<Clock, "now">): Log | undefined {
  if (log === undefined) return undefined;
  const lines = new RateLimitedLines(clock);
  return (level, data, logger) => {
    const line = isBag(data) ? lines.take(data) : data;
    if (line === undefined) return;
    if (logger === undefined) log(level, line);
    else log(level, line, logger);
  };
}
