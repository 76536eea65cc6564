// Owns: the figures of the overview, from whatever the engine, the gateways and the store can say, cheaply. Does not own: what needs
// attention (doctor.ts).

import type { Figures } from "../../core/contract/index.ts";
import { kindOf, memoize, omitUndefined } from "../../core/contract/internal.ts";
import { ClientDurations, type SeenClient } from "./clients.ts";
import type { ConsoleData } from "./data.ts";
import { failedActors, findings, type Known } from "./doctor.ts";
import { type EarlierFailure, failuresText, stillFailed } from "./earlier-failures.ts";
import { type ActorReader, yieldToEventLoop } from "../operate/index.ts";
import { RecentDurations } from "./recent-durations.ts";
import { eachLetter } from "./queue-routes.ts";
import type { ClientShape, Overview } from "./shapes.ts";

/** Several pages request them at once: they get the same figures. */
const FRESH_MS = 900;
/** Reading the store takes at most a fiftieth of the time. */
const SHARE = 50;
const LEAST_MS = 2_000;
/** Dead letters are counted up to this. */
const MOST_LETTERS = 100;
const MOST_DUE = 100;
const MOST_TASKS = 100;
const MOST_CLIENTS = 50;
const MOST_ATTENTION = 10;
/** What happened before needs no attention any more; the doctor still has it. What is still so has no time, except failures. */
const ATTENTION_MS = 3_600_000;
const FAR = Number.MAX_SAFE_INTEGER;
/** Rows that cannot be read are left out: `verify` reports them. */
const leaveOut = (): void => undefined;

interface Counted {
  readonly byKind: Readonly<Record<string, { readonly live: number; readonly stopped: number }>>;
  readonly letters: number | undefined;
  readonly timers: Overview["timers"];
  readonly outbox: number | undefined;
  readonly disk: Overview["disk"];
  readonly known: Known;
}

const NO_LATENCY = new RecentDurations().figures(0).latencyMs;

class OverviewSource {
  readonly #data: ConsoleData;
  readonly #startedAt: number;
  #latest: Promise<Overview> | undefined;
  #latestAt = 0;
  #failedBefore: readonly EarlierFailure[];
  #counted: Promise<Counted> | undefined;
  #countedAt = 0;
  #countAgainAt = 0;

  constructor(data: ConsoleData) {
    this.#data = data;
    this.#failedBefore = data.failures?.earlier ?? [];
    data.live?.onFaults(() => data.failures?.save?.(failuresText(data, this.#failedBefore)));
    this.#startedAt = data.now();
  }

  read(): Promise<Overview> {
    const now = this.#data.now();
    if (this.#latest === undefined || now - this.#latestAt >= FRESH_MS || now < this.#latestAt) {
      this.#latestAt = now;
      this.#latest = this.#make();
      this.#latest.catch(() => (this.#latest = undefined));
    }
    return this.#latest;
  }

  async #make(): Promise<Overview> {
    const { now, live } = this.#data;
    const counted = await this.#count();
    const at = now();
    const figures: Figures = live?.figures() ?? {};
    const failed = live === undefined ? [] : failedActors(this.#data);
    const total = Object.values(counted.byKind).reduce((sum, { live: there }) => sum + there, 0);
    const minute = live?.traffic.minute.figures(at);
    const sampled = live?.sampled;
    const { heapUsed, rss } = process.memoryUsage();
    const byKind = Object.fromEntries(
      Object.entries(counted.byKind).map(([kind, { live: there, stopped }]) => {
        const broken = failed.filter((id) => kindOf(id) === kind).length;
        return [kind, { live: there - broken, failed: broken, stopped }];
      }),
    );
    const failedCount = Math.max(figures.failed ?? 0, failed.length);
    const outbox = figures.outbox ?? counted.outbox;
    return {
      at,
      uptimeMs: sampled?.uptimeMs ?? at - this.#startedAt,
      actors: { total, live: Math.max(0, total - failedCount), failed: failedCount, inMemory: figures.actors ?? 0 },
      byKind,
      turnsPerSecond: sampled?.turnsPerSecond ?? 0,
      requestsPerSecond: sampled?.requestsPerSecond ?? 0,
      latencyMs: minute?.latencyMs ?? NO_LATENCY,
      ...omitUndefined({
        outbox,
        letters: counted.letters,
        timers: counted.timers,
        sessions: figures.sessions,
        streams: figures.streams,
        connections: figures.connections,
        running: figures.requests,
      }),
      clients: live === undefined ? [] : clientsOf(live.traffic.clients.all(), at),
      faults: figures.faults ?? 0,
      slowTurns: figures.slowTurns ?? 0,
      ...omitUndefined({ disk: counted.disk }),
      memory: { heapBytes: heapUsed, rssBytes: rss },
      loopMs: sampled?.loopMs ?? 0,
      attention: findings(this.#data, counted.known)
        .filter(({ level, code, lastAt = at }) => level !== "note" && (code === "ACTOR_FAILED" || lastAt > at - ATTENTION_MS))
        .slice(0, MOST_ATTENTION),
    };
  }

  /** What the doctor needs of stores. */
  async known(): Promise<Known> {
    return (await this.#count()).known;
  }

  #count(): Promise<Counted> {
    const now = this.#data.now();
    // A clock that was set back would put it off for as long.
    if (this.#counted === undefined || now >= this.#countAgainAt || now < this.#countedAt) {
      this.#countedAt = now;
      this.#countAgainAt = FAR;
      const before = performance.now();
      const next = this.#countNow();
      this.#counted = next;
      const counted = (): void => {
        this.#countAgainAt = this.#data.now() + Math.max(LEAST_MS, (performance.now() - before) * SHARE);
      };
      next.then(counted, () => {
        counted();
        this.#counted = undefined;
      });
    }
    return this.#counted;
  }

  async #lostTasks(): Promise<number> {
    let lost = 0;
    for (const report of this.#data.live?.reports ?? [])
      lost += (await report.earlierTasks(MOST_TASKS)).filter(({ status }) => status === "lost").length;
    return lost;
  }

  async #countNow(): Promise<Counted> {
    const { reader, running, now, unserved, disk } = this.#data;
    const kinds = new Set([...(running?.().kinds ?? []).map(({ kind }) => kind), ...(unserved?.() ?? []).map(({ kind }) => kind)]);
    const byKind: Record<string, { readonly live: number; readonly stopped: number }> = {};
    for (const kind of kinds) {
      const count = reader.count ?? running?.().engine.count.bind(running().engine);
      if (count === undefined) break;
      const [all, there] = [await count({ kind }), await count({ kind, live: true })];
      byKind[kind] = { live: there, stopped: Math.max(0, all - there) };
      await yieldToEventLoop();
    }
    const letters = reader.letters && (await lettersIn(reader));
    await yieldToEventLoop();
    const due = await reader.due?.(now(), MOST_DUE, leaveOut);
    const next = (await reader.due?.(FAR, 1, leaveOut))?.[0]?.at;
    const timers = due === undefined ? undefined : { due: due.length, ...omitUndefined({ next }) };
    await yieldToEventLoop();
    // A running engine knows without asking its store.
    const outbox = running === undefined ? (await reader.undelivered?.(MOST_DUE, leaveOut))?.length : undefined;
    this.#failedBefore = await stillFailed(this.#failedBefore, reader);
    const known: Known = { ...omitUndefined({ letters }), failedBefore: this.#failedBefore, lostTasks: await this.#lostTasks() };
    return { byKind, letters, timers, outbox, disk: await disk?.(), known };
  }
}

async function lettersIn(reader: ActorReader): Promise<number> {
  let count = 0;
  for await (const _ of eachLetter(reader, { most: MOST_LETTERS })) count += 1;
  return count;
}

/** By client and revision, those with most requests first. */
function clientsOf(clients: Iterable<SeenClient>, at: number): readonly ClientShape[] {
  const alike = Map.groupBy(clients, ({ client = "unknown", revision = "" }) => JSON.stringify([client, revision]));
  return Array.from(alike.values(), (all): ClientShape => {
    const [{ client = "unknown", revision = "" } = {}] = all;
    return {
      client,
      revision,
      sessions: all.length,
      streams: all.reduce((sum, { streams }) => sum + streams, 0),
      ...ClientDurations.figures(
        all.map(({ durations }) => durations),
        at,
      ),
    };
  })
    .toSorted((one, other) => other.requests - one.requests)
    .slice(0, MOST_CLIENTS);
}

/** One for all pages of a console. */
export const overviewOf = memoize((data: ConsoleData) => new OverviewSource(data));
