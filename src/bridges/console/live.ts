// Owns: what the server's owner gives the gateway and the engine so that the console sees clients and figures. Does not own: traffic
// (traffic.ts), and the routes.

import {
  type ActorId,
  checkOptions,
  type Clock,
  type Engine,
  type Figures,
  type Gateway,
  type GatewayReport,
  type JsonObject,
  type Observer,
  type OptionTable,
  systemClock,
} from "../../core/contract/index.ts";
import { isAddress, observers } from "../../core/contract/internal.ts";
import { Bounded, isLarger } from "./bounded.ts";
import type { PacketTransport } from "./clients.ts";
import type { RunningServer } from "./data.ts";
import { LogBook, type LogEntry } from "./log-book.ts";
import { type PacketOpener, RecordedGateway, recordedPackets } from "./recorded-transports.ts";
import { Sampler, type SampledFigures } from "./sampler.ts";
import { SecretArguments } from "./secret-arguments.ts";
import type { Pace, TrafficRow } from "./shapes.ts";
import { Traffic } from "./traffic.ts";

/**
 * Records what happens between clients and this server. Without a console there is none, and the gateway is not wrapped. To be disposed
 * after the gateway.
 */
export interface LiveRecorder extends Disposable {
  /** For the gateway and the engine. It observes figures only, and passes everything on to `LiveOptions.observer`. */
  readonly observer: Observer;
  /** The same gateway, for one transport: what goes through it is recorded. */
  gateway(gateway: Gateway, transport: TrafficRow["transport"]): Gateway;
  /** What runs from now on: its turns are counted, and its secret arguments hidden. `consoleFor` calls it, before there are clients. */
  serves(running: () => RunningServer): void;
  /** The same packets, for one transport: what goes through it is recorded. */
  packets(flow: PacketOpener, transport: PacketTransport): PacketOpener;
  /**
   * Takes what is logged: faults, slow turns, indexes. The log shows it, and the doctor explains it. `thrown`: what author code threw, if
   * `fields` leave that out.
   */
  logged(level: LogEntry["level"], event: string, fields?: JsonObject, thrown?: string): void;
  /** The figures of the gateway and the engine, summed. */
  figures(): Figures;
  readonly traffic: Traffic;
  readonly log: LogBook;
  /** Of the gateways. */
  readonly reports: Iterable<GatewayReport>;
  readonly sampled: SampledFigures;
  /** One for each second of the last quarter of an hour, oldest first. */
  readonly paces: readonly Pace[];
  /** Actors that had faults: how many, and the last one. */
  readonly faulted: ReadonlyMap<ActorId, SeenFault>;
  /** The same, for each actor by the code of its faults. */
  readonly faults: Iterable<CodedFault>;
  /** Actors whose state was found to be large, and when. */
  readonly largeStates: ReadonlyMap<ActorId, number>;
  /** Runs within a second after actors had faults, and at the end. */
  onFaults(run: () => void): void;
  /** Runs when the server ends: streams must not hold it up. Returns its undo. */
  onEnd(run: () => void): () => void;
  /** Ends the streams, and records no more. */
  close(): void;
}

interface SeenFault {
  readonly count: number;
  readonly at: number;
  /** What was thrown, or the sentence of the error. Empty: neither is known. */
  readonly why: string;
  /** Of the message that failed. */
  readonly action?: string;
}

/** Faults of one actor with one code. */
export interface CodedFault extends SeenFault {
  readonly actor: ActorId;
  /** `CRASHED`: what the author's code threw has no code of Troupe's. Otherwise that of the error, or the event in the log. */
  readonly code: string;
}

/** What `recordLive` takes. */
export interface LiveOptions {
  readonly clock?: Clock;
  /** Another observer, such as telemetry's. */
  readonly observer?: Observer;
}

const SAMPLE_MS = 1_000;
const MOST_PACES = 900;
const MOST_FAULTED = 500;
const MOST_LARGE = 50;
const MAX_WHY = 200;
/** In characters, about. */
const LARGE_STATE = 262_144;

const OPTIONS: OptionTable<LiveOptions> = { clock: true, observer: true };

/** Begins to record. */
export function recordLive(options: LiveOptions = {}): LiveRecorder {
  checkOptions("recordLive", options, OPTIONS);
  return new Recorder(options);
}

class Recorder implements LiveRecorder {
  readonly observer: Observer;
  readonly traffic: Traffic;
  readonly #clock: Clock;
  #running: (() => RunningServer) | undefined;
  readonly #sources = new Set<() => Figures>();
  readonly #reports = new Set<GatewayReport>();
  readonly log = new LogBook();
  readonly paces: Pace[] = [];
  readonly #sampler: Sampler;
  readonly #faulted = new Bounded<ActorId, SeenFault>(MOST_FAULTED);
  readonly #faults = new Bounded<string, CodedFault>(MOST_FAULTED);
  readonly #largeStates = new Bounded<ActorId, number>(MOST_LARGE);
  readonly #ends = new Set<() => void>();
  readonly #faultListeners = new Set<() => void>();
  #hasNewFaults = false;
  #undo: () => void;

  constructor({ clock = systemClock, observer }: LiveOptions) {
    this.#clock = clock;
    this.traffic = new Traffic({ clock, secrets: new SecretArguments(() => this.#running?.().kinds ?? []) });
    this.#sampler = new Sampler(clock);
    const own: Observer = {
      shows: (figures) => {
        this.#sources.add(figures);
        return () => void this.#sources.delete(figures);
      },
    };
    this.observer = observers(own, observer) ?? own;
    this.#undo = clock.after(SAMPLE_MS, () => this.#sample());
  }

  #sample(): void {
    const engine = this.#running?.().engine;
    const changed = this.#sampler.sample(engine, this.traffic.received);
    this.paces.push(this.#pace());
    if (this.paces.length > MOST_PACES) this.paces.shift();
    if (engine !== undefined && changed !== undefined) this.#checkSize(engine, changed);
    this.#reportFaults();
    this.#undo = this.#clock.after(SAMPLE_MS, () => this.#sample());
  }

  // Not at once: a fault is logged before its actor fails.
  #reportFaults(): void {
    if (!this.#hasNewFaults) return;
    this.#hasNewFaults = false;
    for (const run of this.#faultListeners) run();
  }

  onFaults(run: () => void): void {
    this.#faultListeners.add(run);
  }

  #pace(): Pace {
    const at = this.#clock.now();
    const { turnsPerSecond, requestsPerSecond, loopMs } = this.#sampler.figures();
    const { heapUsed, rss } = process.memoryUsage();
    const { latencyMs } = this.traffic.minute.figures(at);
    return { at, turnsPerSecond, requestsPerSecond, latencyMs, loopMs, memory: { heapBytes: heapUsed, rssBytes: rss } };
  }

  /** One of the actors that changed in this second: large states are among them sooner or later. */
  #checkSize(engine: Engine, id: ActorId): void {
    const snapshot = engine.readNow?.(id);
    if (snapshot === undefined || snapshot instanceof Promise) return;
    if (isLarger(snapshot.state, LARGE_STATE)) this.#largeStates.set(id, this.#clock.now());
    else this.#largeStates.delete(id);
  }

  serves(running: () => RunningServer): void {
    this.#running = running;
  }

  gateway(gateway: Gateway, transport: TrafficRow["transport"]): Gateway {
    if (gateway.report !== undefined) this.#reports.add(gateway.report);
    return new RecordedGateway(gateway, this.traffic, transport);
  }

  packets(flow: PacketOpener, transport: PacketTransport): PacketOpener {
    return recordedPackets(flow, this.traffic, transport);
  }

  logged(level: LogEntry["level"], event: string, given: JsonObject = {}, thrown?: string): void {
    const at = this.#clock.now();
    const fields: JsonObject = thrown === undefined ? given : given["why"] === undefined ? { why: thrown, ...given } : { ...given, thrown };
    this.log.add(level, event, fields, at);
    const { actor, why, action, repeated } = fields;
    if (level !== "error" || !isAddress(actor) || repeated === true) return;
    this.#hasNewFaults = true;
    const last = {
      at,
      why: typeof why === "string" ? why.slice(0, MAX_WHY) : "",
      ...(typeof action === "string" && { action: action.slice(0, MAX_WHY) }),
    };
    this.#faulted.set(actor, { ...last, count: (this.#faulted.get(actor)?.count ?? 0) + 1 });
    const code = faultCode(event, fields);
    const key = `${actor} ${code}`;
    this.#faults.set(key, { ...last, actor, code, count: (this.#faults.get(key)?.count ?? 0) + 1 });
  }

  get faults(): Iterable<CodedFault> {
    return this.#faults.entries.values();
  }

  get faulted(): ReadonlyMap<ActorId, SeenFault> {
    return this.#faulted.entries;
  }

  get largeStates(): ReadonlyMap<ActorId, number> {
    return this.#largeStates.entries;
  }

  onEnd(run: () => void): () => void {
    this.#ends.add(run);
    return () => void this.#ends.delete(run);
  }

  get reports(): Iterable<GatewayReport> {
    return this.#reports;
  }

  get sampled(): SampledFigures {
    return this.#sampler.figures();
  }

  figures(): Figures {
    return sum(Array.from(this.#sources, (figures) => figures()));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#reportFaults();
    for (const end of this.#ends) end();
    this.#undo();
    this.#sampler.close();
    this.traffic.close();
    this.#sources.clear();
  }
}

function faultCode(event: string, { code, where, error }: JsonObject): string {
  // What author code throws may have a code of its own, such as ENOENT.
  if ((where === "turn" || where === "work") && error !== "EngineError") return "CRASHED";
  return typeof code === "string" ? code.slice(0, MAX_WHY) : event;
}

function sum(all: readonly Figures[]): Figures {
  const total: Partial<Record<keyof Figures, number>> = {};
  for (const one of all)
    for (const name of FIGURES) {
      const value = one[name];
      if (value !== undefined) total[name] = (total[name] ?? 0) + value;
    }
  return total;
}

const FIGURES = [
  "sessions",
  "connections",
  "streams",
  "requests",
  "actors",
  "failed",
  "outbox",
  "backlog",
  "faults",
  "slowTurns",
] as const satisfies readonly (keyof Figures)[];
