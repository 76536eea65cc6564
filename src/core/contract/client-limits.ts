// Owns: what bounds clients: token buckets, memory of messages in flight, rate-limited log lines. Does not own: where the limits
// apply (mcp/gateway, mcp/transport).

import type { Log } from "./actor.ts";
import { memoizeByString } from "./collections.ts";
import type { Caller } from "./channel.ts";
import { type JsonObject, countValues, isJsonObject, getOwn } from "./json.ts";
import type { Clock } from "./time.ts";

/** The rate of a token bucket: `burst` tokens at most, refilled by `perSecond`. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

// Bounds memory: beyond this many keys, the buckets unused for longest are dropped, and start full again.
const MAX_BUCKETS = 20_000;

// Reading the clock costs a short call more than the rest of `take`, so a full bucket reserves some tokens ahead. A refill leaves
// them out, so that no call passes which a bucket that reads the clock each time would refuse.
const DRAWN = 16;

interface Bucket {
  tokens: number;
  /** When `tokens` was computed. */
  at: number;
  /** How many tokens were reserved ahead then, and how many of them are left. */
  drawn: number;
  left: number;
}

/** Rate limits by key. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a token and returns 0; without one, returns the whole seconds until there is one. */
  take(key: string, rate: Rate): number {
    const bucket = this.#buckets.get(key) ?? this.#begin(key, rate.burst);
    if (bucket.left === 0) return this.#draw(bucket, rate);
    bucket.left -= 1;
    return 0;
  }

  /** Undoes a `take`. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens += 1;
  }

  #draw(bucket: Bucket, { perSecond, burst }: Rate): number {
    const now = this.#clock.now();
    // After the clock was set back, the elapsed time is unknown.
    if (now < bucket.at) bucket.at = now;
    if (now > bucket.at) {
      bucket.tokens = Math.min(burst - bucket.drawn, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      bucket.at = now;
      // The reserved tokens are accounted for: from now on the bucket may fill up to `burst`.
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

/** The default rate: high for local peers. */
export const defaultRate = (peer: string | undefined): Rate => (peer === undefined || isLocal(peer) ? LOCAL : REMOTE);

/** In bytes or characters. Smaller messages are not counted: even the maximum number of them takes little memory. */
const LIGHT = 4_096;
/** Approximate memory per value, beyond its text: `[{},{}]` takes twenty times as many bytes as it has characters. */
const VALUE = 32;

export const isLarge = (message: Uint8Array | string): boolean => message.length > LIGHT;

/**
 * Caps the total size of large messages in flight. Each is within its own limit, but together they could exhaust memory while they
 * wait for actors or for a person. One caller gets at most half.
 */
export class InFlightMemoryBudget {
  readonly #most: number;
  readonly #refusal: () => Error;
  readonly #callers = new Map<string, number>();
  #held = 0;

  /** `most`: in bytes, approximately. `refusal`: makes the error that is thrown when the budget is used up. */
  constructor(most: number, refusal: () => Error) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /** Counts the message until `run` has settled. Throws when the budget is used up. The only message in flight always fits. */
  during<T>(message: Uint8Array | string, { principal, peer }: Caller, run: () => T | Promise<T>): T | Promise<T> {
    const who = principal ?? `peer ${peerOf(peer)}`;
    const weight = weightOf(message);
    this.#take(who, weight);
    let result: T | Promise<T> | undefined;
    try {
      result = run();
    } finally {
      if (!(result instanceof Promise)) this.#release(who, weight);
    }
    return result instanceof Promise ? result.finally(() => this.#release(who, weight)) : result;
  }

  #take(who: string, weight: number): void {
    const already = this.#callers.get(who) ?? 0;
    if (this.#held > 0 && this.#held + weight > this.#most) throw this.#refusal();
    if (already > 0 && already + weight > this.#most / 2) throw this.#refusal();
    this.#held += weight;
    this.#callers.set(who, already + weight);
  }

  #release(who: string, weight: number): void {
    this.#held -= weight;
    const left = (this.#callers.get(who) ?? 0) - weight;
    if (left > 0) this.#callers.set(who, left);
    else this.#callers.delete(who);
  }
}

/** Approximate memory of a JSON message once parsed. */
function weightOf(message: Uint8Array | string): number {
  const { values, empty } = countValues(message);
  return message.length + VALUE * (values - 1 + empty);
}

const GROUPS = 8;
/** The groups that name the network (/64). */
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

/** The key under which to count an address. An IPv6 client has 2^64 addresses, so its /64 network counts as one. Empty: unknown. */
export const peerOf = (address: string | undefined): string => (address === undefined ? "" : network(address));

const QUIET_MS = 5_000;
const MOST_KINDS = 256;

/**
 * Events that report a failure or a refusal, which clients can cause as often as they like. Matched by ending, so that a new event is
 * limited too. Authors' own log events have other names, and reloads follow the author's own saves.
 */
const CAUSED_BY_CALLERS = /^fault$|^stray-|^(?!reload-).*-(?:failed|fault|refused|dropped|unreadable|timeout|full|long|ended|kept|slow)$/;

/** The members that distinguish kinds of lines. No ids: a caller can make them up, and each would be a kind of its own. */
const OF_KIND = [
  "transport",
  "where",
  "reason",
  "code",
  "error",
  "name",
  "text",
  "place",
  "type",
  "offer",
  "capability_id",
  "method",
  "action",
];

interface Written {
  readonly at: number;
  unsaid: number;
}

/**
 * Rate-limits log lines that callers can cause: one line per event and kind every 5 s. `unsaid` counts the lines dropped since the
 * previous one, plus the counts those lines had themselves.
 */
export class RateLimitedLines {
  readonly #clock: Pick<Clock, "now">;
  readonly #written = new Map<string, Written>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The line to write; undefined: drop it. */
  take(line: JsonObject): JsonObject | undefined {
    const { event } = line;
    if (typeof event !== "string" || !CAUSED_BY_CALLERS.test(event)) return line;
    const now = this.#clock.now();
    const kind = this.#room(kindOf(line, event), event, now);
    const before = this.#written.get(kind);
    const brought = line["unsaid"];
    const more = typeof brought === "number" ? brought : 0;
    // After the clock was set back, the line passes.
    if (before !== undefined && now >= before.at && now - before.at < QUIET_MS) {
      before.unsaid += 1 + more;
      return undefined;
    }
    this.#written.set(kind, { at: now, unsaid: 0 });
    const unsaid = more + (before?.unsaid ?? 0);
    return unsaid === 0 ? line : { ...line, unsaid };
  }

  /** Bounds memory: with too many kinds at once, all of an event count as one. */
  #room(kind: string, event: string, now: number): string {
    if (this.#written.has(kind) || this.#written.size < MOST_KINDS) return kind;
    for (const [one, { at }] of this.#written) if (now < at || now - at >= QUIET_MS) this.#written.delete(one);
    return this.#written.size < MOST_KINDS ? kind : event;
  }
}

function kindOf(line: JsonObject, event: string): string {
  const kind: unknown[] = [event];
  for (const name of OF_KIND) kind.push(getOwn(line, name));
  // A single word only: a sentence may contain ids.
  const { why, actor } = line;
  kind.push(typeof why === "string" && /^[\w-]{1,32}$/.test(why) ? why : undefined);
  // Damaged rows are few, and the operator must see each.
  kind.push(line["code"] === "STORE_CORRUPT" ? actor : undefined);
  return JSON.stringify(kind);
}

/** A log that passes on rate-limited lines. */
export function rateLimitedLog(log: Log, clock: Pick<Clock, "now">): Log;
export function rateLimitedLog(log: Log | undefined, clock: Pick<Clock, "now">): Log | undefined;
export function rateLimitedLog(log: Log | undefined, clock: Pick<Clock, "now">): Log | undefined {
  if (log === undefined) return undefined;
  const lines = new RateLimitedLines(clock);
  return (level, data, logger) => {
    const line = isJsonObject(data) ? lines.take(data) : data;
    if (line === undefined) return;
    if (logger === undefined) log(level, line);
    else log(level, line, logger);
  };
}

/**
 * C4: the key of a call of a caller without a principal or handle. It is scoped to the caller's peer, since others could guess it; a
 * caller without either has no key.
 */
export const peerKey = (key: string, peer: string | undefined): string | undefined => (peer === undefined ? undefined : `${peer} ${key}`);
