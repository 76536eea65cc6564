/**
 * Actors on a Restate server, from any process that reaches its ingress.
 *
 * C2: a reply is the outcome of an invocation the server has made durable.
 * C4: a keyed call is one invocation however often it is sent; it is sent again until
 * its outcome is known. An invocation that applied nothing answers for itself only.
 */
import { hash } from "node:crypto";
import { keyOf, stamp, stampFrom } from "../chain/internal.ts";
import {
  abortSignalOf,
  EngineError,
  systemClock,
  systemEntropy,
  type ActorId,
  type CallOptions,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Message,
  type Outgoing,
  type Reply,
  type Snapshot,
} from "../contract/index.ts";
import { invoke } from "./ingress.ts";
import type { WorkHost } from "./durable-work.ts";
import { isEvents } from "./kept.ts";
import { errorFrom, isGuarded, isOutcome, isSnapshot, type Outcome, type TurnInput } from "./outcome.ts";
import { objectName, partsOf } from "./virtual-object.ts";

export interface RestateEngineOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long a keyed call is sent again while the server is away. Default 60 s. */
  readonly patienceMs?: number;
}

/** One key that found this many invocations which applied nothing is given up: each further call would ask them all. */
const MOST_TRIES = 32;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export class RestateEngine {
  readonly #ingress: string;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #patienceMs: number;

  constructor({ ingress, clock = systemClock, entropy = systemEntropy, patienceMs = 60_000 }: RestateEngineOptions) {
    this.#ingress = ingress;
    this.#clock = clock;
    this.#entropy = entropy;
    this.#patienceMs = patienceMs;
  }

  /** Throws `EngineError` only. Without a key, a server that goes away leaves the outcome unknown. */
  async call(outgoing: Outgoing, options: CallOptions = {}): Promise<Reply> {
    return this.#run(stamp(outgoing, options, this.#clock.now(), this.#entropy), options);
  }

  /** The last durable state, never that of a running turn (law 2). */
  async read(id: ActorId): Promise<Snapshot | undefined> {
    const answer = await this.#ask(id, "read", null);
    if (answer === null) return undefined;
    if (!isSnapshot(answer)) throw strange(id);
    return answer;
  }

  /** In order, as far as the chain reaches when the last part is asked for. */
  async *history(id: ActorId, afterSeq = 0): AsyncIterable<ChainEvent> {
    let seq = afterSeq;
    for (;;) {
      const events = await this.#ask(id, "events", seq);
      if (!isEvents(events)) throw strange(id);
      if (events.length === 0) return;
      yield* events;
      seq += events.length;
    }
  }

  /** What turns served by this process need of it: calls from work go through this engine, `onFault` hears what behaviours throw. */
  workHost(onFault: (error: unknown, message: Message) => void = () => {}): WorkHost {
    return {
      now: () => this.#clock.now(),
      after: (ms, run) => this.#clock.after(ms, run),
      // C4: the work's id is in the key, so a second run finds the first one's calls.
      call: (work, n, outgoing, endsAt, signal) => {
        const message = stampFrom(work, n, outgoing, endsAt, this.#clock.now(), this.#entropy);
        return this.#run(message, { key: `work ${message.id}`, signal });
      },
      fault: onFault,
    };
  }

  async #run(message: Message, { key, signal, onReceipt }: CallOptions): Promise<Reply> {
    keyOf(message.to);
    const left = signal && abortSignalOf(signal);
    const outcome = await (key === undefined ? this.#once(message, undefined, left) : this.#keyed(message, key, left));
    if ("fault" in outcome) throw errorFrom(outcome.fault);
    const { reply, committed } = outcome;
    if (committed) onReceipt?.({ actor: message.to, ...committed });
    return reply;
  }

  async #keyed(message: Message, key: string, signal: AbortSignal | undefined): Promise<Outcome> {
    const principal = message.viewer?.principal ?? null;
    const givesUpAt = this.#clock.now() + this.#patienceMs;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const scoped = hash("sha256", JSON.stringify([principal, key, tries]), "hex");
      const outcome = await this.#sentAgain(message, scoped, givesUpAt, signal);
      const applied = "reply" in outcome && outcome.committed !== undefined;
      if (applied || outcome.of === message.id) return outcome;
    }
    throw new EngineError("NOT_APPLIED", `${MOST_TRIES} calls with this key were not applied: call with another key.`);
  }

  async #sentAgain(message: Message, idempotencyKey: string, givesUpAt: number, signal: AbortSignal | undefined): Promise<Outcome> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.#once(message, idempotencyKey, signal);
      } catch (error) {
        const unknown = error instanceof EngineError && error.code === "OUTCOME_UNKNOWN";
        if (!unknown || signal?.aborted || this.#clock.now() + pauseMs > givesUpAt) throw error;
      }
      await new Promise<void>((resolve) => this.#clock.after(pauseMs, resolve));
    }
  }

  async #once(message: Message, idempotencyKey: string | undefined, signal: AbortSignal | undefined): Promise<Outcome> {
    const input: TurnInput = { message };
    const outcome = await this.#invoke(message.to, "turn", input, idempotencyKey, signal);
    if (!isOutcome(outcome)) throw strange(message.to);
    return outcome;
  }

  async #ask(id: ActorId, handler: "read" | "events", input: unknown): Promise<unknown> {
    keyOf(id);
    const answer = await this.#invoke(id, handler, input);
    if (!isGuarded(answer)) throw strange(id);
    if ("fault" in answer) throw errorFrom(answer.fault);
    return answer.value;
  }

  #invoke(id: ActorId, handler: string, input: unknown, idempotencyKey?: string, signal?: AbortSignal): Promise<unknown> {
    const { kind, key } = partsOf(id);
    return invoke(
      this.#ingress,
      { object: objectName(kind), key, handler, input, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
      signal,
    );
  }
}

const strange = (id: ActorId): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    `What serves ${id} answered something else than this version understands: register the deployment that fits.`,
    {
      applied: "unknown",
    },
  );
