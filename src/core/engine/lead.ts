/**
 * The turns of one actor that were handed to the store and are not durable yet.
 *
 * C2: they land in their order; once one is lost, none after it lands, and all are
 * told of together when the store has answered for each.
 */
import type { ActorId, EngineError, Entry, Message, Snapshot } from "../contract/index.ts";
import type { CommitCallbacks, CommitWithCallback } from "../contract/internal.ts";
import type { Job } from "./job.ts";
import type { Plan } from "../chain/internal.ts";
import { storedSnapshot } from "./stored.ts";

/** A reply that saw the lead: told or dropped with it. */
export interface Rider {
  readonly done: () => void;
  readonly dropped: (error: EngineError) => void;
}

interface Leave {
  readonly message: Message;
  readonly above: ReadonlySet<ActorId>;
}

export class Flight implements CommitCallbacks {
  readonly #lead: Lead;
  readonly job: Job;
  readonly plan: Plan;
  readonly entry: Entry;
  riders: Rider[] | undefined;
  /** Of a stop: what the store keeps until the actor's children have ended, and who is stopping already. */
  readonly leave: Leave | undefined;
  outcome: "flying" | "kept" | "lost" = "flying";
  error: unknown;

  constructor(lead: Lead, job: Job, plan: Plan, entry: Entry, leave: Leave | undefined) {
    this.#lead = lead;
    this.job = job;
    this.leave = leave;
    this.plan = plan;
    this.entry = entry;
  }

  take(rider: Rider): void {
    (this.riders ??= []).push(rider);
  }

  kept(): void {
    this.outcome = "kept";
    this.#lead.arrived(this);
  }

  lost(error: unknown): void {
    this.outcome = "lost";
    this.error = error;
    this.#lead.arrived(this);
  }
}

export interface LeadEnds {
  readonly landed: (flight: Flight) => void;
  /** After each answer of the store by which something landed. */
  readonly shorter: () => void;
  /** The first answer that something was lost: no more turns until the rest is known. */
  readonly failing: () => void;
  /** All that did not land, in order. */
  readonly dropped: (flights: readonly Flight[]) => void;
}

export class Lead {
  #durable: Snapshot;
  /** What has landed since that was made. */
  #landed: Flight | undefined;
  readonly #id: ActorId;
  readonly #ends: LeadEnds;
  #flights: Flight[] = [];
  #failing = false;
  #whenOver: (() => void)[] = [];

  constructor(id: ActorId, durable: Snapshot, ends: LeadEnds) {
    this.#id = id;
    this.#durable = durable;
    this.#ends = ends;
  }

  /** What readers see meanwhile (law 2): made when somebody looks. */
  get durable(): Snapshot {
    if (this.#landed !== undefined) {
      const { plan, entry } = this.#landed;
      this.#durable = storedSnapshot(this.#id, { row: entry.row, seq: entry.seq, head: entry.event.id }, plan.state);
      this.#landed = undefined;
    }
    return this.#durable;
  }

  get length(): number {
    return this.#flights.length;
  }

  add(flight: Flight, handOver: CommitWithCallback): void {
    this.#flights.push(flight);
    handOver(this.#id, flight.entry, flight);
  }

  ride(rider: Rider): void {
    this.#flights.at(-1)?.take(rider);
  }

  /** Settles when the store has answered for the turn that answers that key, kept or dropped; undefined: there is none. */
  answering(key: string): Promise<void> | undefined {
    const flight = this.#flights.find(({ plan }) => plan.remembered.some((remembered) => remembered.key === key));
    return flight && new Promise((resolve) => flight.take({ done: resolve, dropped: () => resolve() }));
  }

  /** Settles when the store has answered for all of it. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#flights.length === 0) resolve();
      else this.#whenOver.push(resolve);
    });
  }

  /** The store has answered for one more. */
  arrived({ outcome }: Flight): void {
    if (outcome === "lost" && !this.#failing) {
      this.#failing = true;
      this.#ends.failing();
    }
    if (this.#failing) {
      if (this.#flights.some((flight) => flight.outcome === "flying")) return;
      const dropped = this.#flights;
      this.#flights = [];
      this.#ends.dropped(dropped);
    } else {
      if (this.#flights[0]?.outcome !== "kept") return;
      for (let flight: Flight | undefined = this.#flights[0]; flight?.outcome === "kept"; flight = this.#flights[0]) {
        this.#landed = flight;
        this.#ends.landed(flight);
        this.#flights.shift();
      }
      this.#ends.shorter();
    }
    if (this.#flights.length > 0) return;
    const waiting = this.#whenOver;
    this.#whenOver = [];
    for (const run of waiting) run();
  }
}
