// Owns: which clients were seen, and the figures of each: how long its requests took, and its calls waited and ran. Does not own: their
// messages (traffic.ts).

import type { ActorId, Caller, Handled, SessionReport } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { sessionName } from "../../mcp/gateway/session-name.ts";
import { Bounded } from "./bounded.ts";
import { clientLabel } from "./message-text.ts";
import { RecentDurations, type RecentFigures } from "./recent-durations.ts";
import type { ClientLatency, SeenCaller, SessionRow, TrafficRow } from "./shapes.ts";
import type { RecordedRow } from "./traffic-row.ts";

/** More are forgotten, the one that was silent for longest first. */
const MOST_CLIENTS = 1_000;
const MOST_CALLERS = 200;

export type Transport = TrafficRow["transport"];
/** How a packet client is connected. */
export type PacketTransport = Extract<Transport, `packets-${string}`>;
export type Era = NonNullable<TrafficRow["era"]>;

/** Durations of the last minute or, while there are none, of all time. */
class Durations {
  readonly minute = new RecentDurations();
  readonly allTime = RecentDurations.ofAllTime();

  add(now: number, ms: number, isError: boolean): void {
    this.minute.add(now, ms, isError);
    this.allTime.add(now, ms, isError);
  }

  static latency(all: readonly Durations[], now: number): RecentFigures["latencyMs"] {
    const { latencyMs } = RecentDurations.together(all.map(({ minute }) => minute)).figures(now);
    return latencyMs.count > 0 ? latencyMs : RecentDurations.together(all.map(({ allTime }) => allTime)).figures(now).latencyMs;
  }
}

interface ClientFigures extends ClientLatency {
  /** In the last minute. */
  readonly requests: number;
  readonly errors: number;
}

export class ClientDurations {
  readonly #all = new Durations();
  readonly #waited = new Durations();
  readonly #ran = new Durations();

  add(now: number, ms: number, isError: boolean, handled: Handled | undefined): void {
    this.#all.add(now, ms, isError);
    if (handled === undefined) return;
    this.#waited.add(now, handled.waitedMs, isError);
    this.#ran.add(now, handled.ranMs, isError);
  }

  /** Those of several clients, as one. */
  static figures(clients: readonly ClientDurations[], now: number): ClientFigures {
    const { requests, errors } = RecentDurations.together(clients.map((one) => one.#all.minute)).figures(now);
    const latency = (of: (one: ClientDurations) => Durations): RecentFigures["latencyMs"] => Durations.latency(clients.map(of), now);
    const [all, waited, ran] = [latency((one) => one.#all), latency((one) => one.#waited), latency((one) => one.#ran)];
    return {
      requests,
      errors,
      p50Ms: all.p50,
      p99Ms: all.p99,
      ...(ran.count > 0 && { waitedP99Ms: waited.p99, ranP99Ms: ran.p99 }),
    };
  }
}

/** A session, a connection, or since 2026-07-28 all requests of one client for one principal. */
export class SeenClient {
  readonly name: string;
  readonly transport: Transport;
  era: Era | undefined;
  client: string | undefined;
  revision: string | undefined;
  principal: string | undefined;
  readonly peer: string | undefined;
  /** That it changed last. */
  actor: ActorId | undefined;
  readonly startedAt: number;
  lastAt: number;
  streams = 0;
  requests = 0;
  errors = 0;
  hasEnded = false;
  readonly durations = new ClientDurations();
  /** Recorded requests that wait for their responses, by id as JSON. */
  readonly pending = new Map<string, RecordedRow>();

  constructor(name: string, transport: Transport, era: Era | undefined, { principal, peer }: Caller, now: number) {
    this.name = name;
    this.transport = transport;
    this.era = era;
    this.principal = principal;
    this.peer = peer;
    this.startedAt = this.lastAt = now;
  }

  /** What a session of an earlier process said when it began. */
  learn({ client, revision, principal }: SessionReport): void {
    this.client ??= clientLabel(client);
    this.revision ??= revision;
    this.principal ??= principal;
  }

  /** A session over HTTP, which its gateway knows as long as it lives. */
  get isSession(): boolean {
    return this.transport === "http" && this.era === "legacy";
  }

  answered(now: number, ms: number, isError: boolean, handled: Handled | undefined): void {
    this.requests += 1;
    if (isError) this.errors += 1;
    this.durations.add(now, ms, isError, handled);
  }

  row(now: number, report: SessionReport | undefined): SessionRow {
    const { p50Ms, p99Ms, waitedP99Ms, ranP99Ms } = ClientDurations.figures([this.durations], now);
    const { client = clientLabel(report?.client), principal = report?.principal, peer, actor } = this;
    return {
      name: this.name,
      ...omitUndefined({ client, principal, peer, actor }),
      revision: this.revision ?? report?.revision ?? "",
      startedAt: report?.startedAt ?? this.startedAt,
      lastAt: Math.max(this.lastAt, report?.seenAt ?? 0),
      streams: Math.max(this.streams, report?.streams ?? 0),
      requests: this.requests,
      errors: this.errors,
      p50Ms,
      p99Ms,
      ...omitUndefined({ waitedP99Ms, ranP99Ms }),
      subscriptions: report?.subscriptions ?? [],
    };
  }
}

/** All that were seen, by what identifies them: a session's id, a connection's name, or client and principal. Least recently seen first. */
export class SeenClients {
  readonly #all = new Map<string, SeenClient>();
  readonly #callers = new Bounded<string, SeenCaller>(MOST_CALLERS);
  #connections = 0;

  /** A request of a caller has come: its scopes and claims are remembered as they are now, until the process ends. */
  called({ principal, scopes, claims }: Caller, at: number): void {
    if (principal === undefined) return;
    this.#callers.set(principal, { principal, scopes, ...omitUndefined({ claims }), lastAt: at });
  }

  /** Those with a principal, the last one first. */
  callers(): readonly SeenCaller[] {
    return Array.from(this.#callers.entries.values()).toSorted((one, other) => other.lastAt - one.lastAt);
  }

  /** A session over HTTP, by its id, that is known already. Any client can send the name of another client as its id. */
  known(id: string): SeenClient | undefined {
    const found = this.#all.get(id);
    return found?.isSession === true ? found : undefined;
  }

  /** A session over HTTP, by its id. Only of one that exists: anybody can send an id. */
  session(id: string, caller: Caller, now: number): SeenClient {
    return this.#find(id, () => new SeenClient(sessionName(id), "http", "legacy", caller, now));
  }

  connection(transport: Transport, caller: Caller, now: number): SeenClient {
    this.#connections += 1;
    const name = `${transport}|${this.#connections}`;
    return this.#find(name, () => new SeenClient(name, transport, "legacy", caller, now));
  }

  /** All requests of 2026-07-28 over HTTP of that client and principal: such clients have no session. */
  stateless(client: string | undefined, revision: string | undefined, caller: Caller, now: number): SeenClient {
    const { principal, peer } = caller;
    const name = `${client ?? "unknown"} | ${principal ?? peer ?? "anonymous"}`;
    return this.#find(`${name} | ${revision ?? ""}`, () => {
      const made = new SeenClient(name, "http", "modern", caller, now);
      made.client = client;
      made.revision = revision;
      return made;
    });
  }

  /** A client that sends packets: by its connection, or over HTTP by its principal. */
  packets(transport: PacketTransport, caller: Caller, now: number): SeenClient {
    this.#connections += 1;
    const name =
      transport === "packets-http" ? `packets | ${caller.principal ?? caller.peer ?? "anonymous"}` : `${transport}|${this.#connections}`;
    return this.#find(name, () => {
      const made = new SeenClient(name, transport, undefined, caller, now);
      made.client = "packets";
      made.revision = "packets/1.0";
      return made;
    });
  }

  #find(key: string, make: () => SeenClient): SeenClient {
    const known = this.#all.get(key);
    if (known !== undefined) {
      // Only now and then, since each move costs as much as a look-up.
      if (this.#all.size >= MOST_CLIENTS) {
        this.#all.delete(key);
        this.#all.set(key, known);
      }
      return known;
    }
    const made = make();
    this.#all.set(key, made);
    if (this.#all.size > MOST_CLIENTS) for (const [oldest] of this.#all) return (this.#all.delete(oldest), made);
    return made;
  }

  ended(client: SeenClient): void {
    client.hasEnded = true;
    for (const [key, one] of this.#all) if (one === client) this.#all.delete(key);
  }

  all(): Iterable<SeenClient> {
    return this.#all.values();
  }
}
