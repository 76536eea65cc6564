import { callHash, IndexChanges, innerKey, rolesByKind, scopedKey, stamp, stampFrom } from "../../core/chain/internal.ts";
import { readHeader, sha256 } from "../../core/chain/index.ts";
import {
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Index,
  type IndexProgress,
  type Json,
  type Message,
  type Outgoing,
  type Reply,
  type Row,
  systemClock,
} from "../../core/contract/index.ts";
import { isAddress, kindOf, messageOf } from "../../core/contract/internal.ts";
import { SimulatedEntropy } from "../../testing/index.ts";
import { directly } from "./direct.fixture.ts";
import { DirectTurns } from "./direct-turns.ts";
import type { DurableContext, Handler, NodeHost } from "./durable-context.ts";
import type { InnerCall } from "./durable-work.ts";
import { actorsOfKind } from "./directory.ts";
import { indexObject } from "./index-object.ts";
import { RestateIndexes } from "./indexes.ts";
import type { Invocation } from "./ingress.ts";
import { ShardedMap } from "./map-client.ts";
import { LeftCallers } from "./caller-relay.ts";
import { Kinds } from "./kinds.ts";
import { Journal, type Faults, type InvocationEnvironment, type Invoked } from "./journal.fixture.ts";
import { ACTOR_KEY, isEvents, readStoredActor, type StoredActor } from "./stored-actor.ts";
import { mapObject } from "./map-object.ts";
import { MapText } from "./map-text.fixture.ts";
import { Names } from "./names.ts";
import { errorFrom, isGuarded, isOutcome, isSnapshot, type Outcome } from "./outcome.ts";
import type { ExclusiveContext, RestateSdk } from "./sdk.ts";
import { sealer, unsealed } from "./sealer.ts";
import { actorObject, archiveObject, controlService } from "./actor-object.ts";

const SECRET = Buffer.alloc(32, "a secret of this test");

interface Served {
  readonly run: (context: ExclusiveContext, input: unknown) => Promise<unknown>;
  readonly exclusive: boolean;
}

interface Sent {
  readonly to: Handler;
  readonly input: unknown;
}

export interface WorldOptions {
  readonly kinds: readonly Behaviour[];
  readonly indexes?: readonly Index[];
  /** The clock of its node's indexes. */
  readonly patience?: Clock;
  /** What goes wrong with an invocation of an actor, by its handler and how many were started before. */
  readonly faults?: (handler: string, nth: number) => Faults;
  readonly entropy?: Entropy;
  readonly now?: number;
  /** Kinds that no node serves any more. */
  readonly unknown?: readonly string[];
  /** Time until another attempt starts. */
  readonly cutMs?: number;
  /** The world whose objects it continues with. */
  readonly after?: World;
  /** Turns are answered without the SDK if possible, each attempt cut after so many frames. */
  readonly direct?: readonly number[];
}

/** A durable engine in this process: handlers as they are served, one invocation after the other, each with a journal of its own. */
export class World {
  readonly names = new Names();
  readonly leftCallers = new LeftCallers();
  readonly indexes: IndexChanges;
  /** Its node's indexes. */
  readonly rows: RestateIndexes;
  /** Reported progress of builds. */
  readonly built: IndexProgress[] = [];
  readonly #options: WorldOptions;
  readonly #entropy: Entropy;
  readonly #objects: Map<string, MapText>;
  readonly #served = new Map<string, Served>();
  /** For its kinds. */
  readonly direct: DirectTurns;
  readonly #queue: Sent[] = [];
  #timers: (Sent & { readonly at: number })[] = [];
  /** For exclusive handlers: when the latest invocation has ended. */
  readonly #ended = new Map<string, Promise<unknown>>();
  /** Invocations that were cancelled by a stop of their actor. */
  readonly cancelled: string[] = [];
  /** What behaviours threw. */
  readonly thrown: string[] = [];
  /** Messages to actors, in order. */
  readonly delivered: string[] = [];
  readonly hints: string[] = [];
  /** How many turns were answered without the SDK. */
  answeredDirectly = 0;
  /** Invocations of actors, in the order of their ends. */
  readonly invoked: (Invoked & { readonly handler: string; readonly nth: number })[] = [];
  #begun = 0;
  now: number;

  constructor(options: WorldOptions) {
    this.#options = options;
    // Ids must stay unique: a second world over the same objects that started again would repeat ids of actors and messages.
    this.#entropy = options.entropy ?? (options.after === undefined ? new SimulatedEntropy() : options.after.#entropy);
    this.now = options.now ?? options.after?.now ?? 1_704_067_200_000;
    this.#objects = options.after === undefined ? new Map() : options.after.#objects;
    this.indexes = new IndexChanges(options.indexes ?? [], options.kinds, (error) => this.#threw(error));
    this.rows = this.#rows(options.kinds);
    const sdk = this.#sdk();
    const host = this.#host();
    this.direct = new DirectTurns(host, options.kinds);
    for (const behaviour of options.kinds) {
      actorObject({ sdk, host }, behaviour);
      archiveObject({ sdk, host }, behaviour);
    }
    mapObject(sdk, this.names);
    indexObject({
      sdk,
      host: {
        names: this.names,
        indexHint: (part, head) => this.rows.hint(part, head),
        indexRebuild: (name) => this.rows.rebuild(name),
        indexVerify: (name) => this.rows.verify(name),
      },
    });
    controlService({ sdk, host });
  }

  /** A caller's call, and everything that follows from it. Returns what the caller would get. */
  async call(outgoing: Outgoing, { key, settle = true }: { readonly key?: string; readonly settle?: boolean } = {}): Promise<Outcome> {
    const message = stamp(outgoing, undefined, this.now, this.#entropy);
    const named = key === undefined ? {} : { key: this.#named(message, key) };
    const input = this.#sealer(message.to).seal({ message, ...named });
    const outcome = await this.ask(this.names.actor(message.to, "turn"), input);
    if (settle) await this.settle();
    if (!isOutcome(outcome)) throw new TypeError(`This is no outcome: ${JSON.stringify(outcome)}`);
    return outcome;
  }

  async stop(to: ActorId, reason: string): Promise<unknown> {
    const message = stamp({ to, action: "stop", args: { reason } }, undefined, this.now, this.#entropy);
    const outcome = await this.ask(this.names.actor(to, "stop"), { message, reason, above: [] });
    await this.settle();
    return outcome;
  }

  /** Runs everything that was sent, and what that sends. */
  async settle(): Promise<void> {
    for (let sent = this.#queue.shift(); sent !== undefined; sent = this.#queue.shift()) await this.ask(sent.to, sent.input);
  }

  /** Moves time on, and runs what falls due. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await this.settle();
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.now = Math.max(this.now, next.at);
      await this.ask(next.to, next.input);
      await this.settle();
    }
    this.now = end;
  }

  /** Sets the clock back: timers still wait as long as before. */
  setBack(ms: number): void {
    this.now -= ms;
    this.#timers = this.#timers.map((timer) => ({ ...timer, at: timer.at - ms }));
  }

  /** Number of timers. */
  get timers(): number {
    return this.#timers.length;
  }

  /** One invocation, from outside or inside. */
  async ask(to: Handler, input: unknown): Promise<unknown> {
    const { object, key = "", handler } = to;
    const served = this.#served.get(`${object} ${handler}`);
    if (served === undefined) throw new TypeError(`Nothing serves ${object}/${handler}.`);
    const place = `${object}/${key}`;
    const before = this.#ended.get(place);
    const ended = Promise.withResolvers<void>();
    if (served.exclusive) this.#ended.set(place, ended.promise);
    try {
      if (served.exclusive) await before;
      return await this.#invoked(served, to, input);
    } finally {
      ended.resolve();
    }
  }

  async #invoked(served: Served, { object, key = "", handler }: Handler, input: unknown): Promise<unknown> {
    const isActor = object.startsWith(this.names.actors("")) && served.exclusive;
    if (handler === "deliver") this.delivered.push(JSON.stringify(input));
    const nth = isActor ? this.#begun++ : 0;
    const faults = isActor ? (this.#options.faults?.(handler, nth) ?? {}) : {};
    const { direct } = this.#options;
    if (direct !== undefined && handler === "turn") {
      const { keys } = this.#environment(`${object}/${key}`);
      const run = await directly(this.direct, { path: `/invoke/${object}/${handler}`, key, keys, input }, direct);
      if (run !== undefined) {
        this.answeredDirectly += 1;
        this.invoked.push({ ...run, handler, nth });
        return run.outcome;
      }
    }
    const invocation = `inv_${sha256(`${object} ${key} ${handler} ${JSON.stringify(input)}`).slice(0, 16)}`;
    const journal = new Journal({ ...this.#environment(`${object}/${key}`), invocation }, faults);
    const run = await journal.run((context) =>
      served.run(
        asSdk(context, key, this.cancelled, () => [...this.#environment(`${object}/${key}`).keys.values.keys()]),
        input,
      ),
    );
    if (isActor) this.invoked.push({ ...run, handler, nth });
    return run.outcome;
  }

  /** All stored values, by `object/key name`. */
  storedKeys(only = ""): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#objects]
        .flatMap(([place, { values }]) => [...values].map(([name, text]): [string, string] => [`${place} ${name}`, text]))
        .filter(([name]) => name.startsWith(only))
        .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  }

  /** Writes under an actor's name, like something that is no handler; undefined removes it. */
  damage(id: ActorId, name: string, text: string | undefined): void {
    const { object, key } = this.names.actor(id, "");
    this.#objects.get(`${object}/${key ?? ""}`)?.write([name, text]);
  }

  row(id: ActorId): Row | undefined {
    return this.own(id)?.row;
  }

  state(id: ActorId): Json | undefined {
    return this.own(id)?.state;
  }

  /** The content of an actor's own key. */
  own(id: ActorId): StoredActor | undefined {
    const { object, key } = this.names.actor(id, "");
    return readStoredActor(this.#objects.get(`${object}/${key ?? ""}`)?.values.get(ACTOR_KEY));
  }

  /** From the archive and the actor's own key. */
  async chain(id: ActorId): Promise<ChainEvent[]> {
    const chain: ChainEvent[] = [];
    for (const handler of [this.names.archive(id, "events"), this.names.actor(id, "events")])
      for (;;) {
        const answer: unknown = Object(await this.ask(handler, chain.length))["value"];
        const events: unknown = isEvents(answer) ? answer : Object(answer)["events"];
        if (!isEvents(events)) throw new TypeError(`These are no events: ${JSON.stringify(answer)}`);
        const more = events.filter((event) => readHeader(event).seq > chain.length);
        if (more.length === 0) break;
        chain.push(...more);
      }
    return chain;
  }

  async *#history(id: ActorId, afterSeq: number): AsyncGenerator<ChainEvent> {
    for (const event of await this.chain(id)) if (readHeader(event).seq > afterSeq) yield event;
  }

  #environment(place: string): Omit<InvocationEnvironment, "invocation"> {
    const keys = this.#objects.get(place) ?? new MapText();
    this.#objects.set(place, keys);
    return {
      keys,
      call: async (to, input) => {
        await this.#deliverFirst(to);
        return this.ask(to, input);
      },
      send: (to, input, afterMs) =>
        void (afterMs === undefined || afterMs <= 0
          ? this.#queue.push({ to, input })
          : this.#timers.push({ to, input, at: this.now + afterMs })),
      sleep: async (ms) => void (this.now += ms),
      again: () => void (this.now += this.#options.cutMs ?? 0),
    };
  }

  /** As on the server: what was sent to an object arrives before a later exclusive call. A shared one does not wait. */
  async #deliverFirst({ object, key, handler }: Handler): Promise<void> {
    if (this.#served.get(`${object} ${handler}`)?.exclusive !== true) return;
    const isFirst = ({ to }: Sent): boolean => to.object === object && to.key === key;
    const first = this.#queue.filter(isFirst);
    this.#queue.splice(0, Infinity, ...this.#queue.filter((sent) => !isFirst(sent)));
    for (const sent of first) await this.ask(sent.to, sent.input);
  }

  #named(message: Message, key: string): { readonly key: string; readonly call: string } {
    return { key: scopedKey(message.viewer, message.from, key), call: callHash(message.action, message.args) };
  }

  #sealer(id: ActorId): ReturnType<NodeHost["sealerFor"]> {
    return this.#host().sealerFor(kindOf(id));
  }

  #host(): NodeHost {
    const kinds = new Map(this.#options.kinds.map((behaviour) => [behaviour.kind, behaviour]));
    const sealed = sealer(SECRET);
    return {
      names: this.names,
      indexes: this.indexes,
      keyMs: 60_000,
      retryMs: 100,
      isLinked: (kind) => new Kinds(this.#options.kinds, SECRET).isLinked(kind),
      knows: (kind) => kinds.has(kind) && this.#options.unknown?.includes(kind) !== true,
      sealerFor: (kind) => (kinds.get(kind)?.redact === undefined ? unsealed : sealed),
      rolesOf: (viewer) => rolesByKind(this.#options.kinds, viewer),
      // The same for another attempt, so that all its changes can be compared.
      seed: () => sha256(`rung ${this.now}`).slice(0, 32),
      hint: ({ id, seq, status }) => void this.hints.push(`${id} ${seq} ${status}`),
      report: () => undefined,
      now: () => this.now,
      after(ms, run) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      call: (call) => this.#inner(call),
      history: (id, afterSeq) => this.#history(id, afterSeq),
      reporters: () => ({ progress: () => undefined, log: () => undefined }),
      abortWithCaller: (call, abort) => this.leftCallers.work(call, abort),
      fault: (error) => this.#threw(error),
    };
  }

  #threw(error: unknown): void {
    this.thrown.push(messageOf(error));
  }

  #rows(kinds: readonly Behaviour[]): RestateIndexes {
    const request = async ({ input, ...to }: Invocation): Promise<unknown> => {
      const answer = await this.ask(to, JSON.parse(JSON.stringify(input)));
      if (!isGuarded(answer)) throw new TypeError(`This is no answer: ${JSON.stringify(answer)}`);
      if ("fault" in answer) throw errorFrom(answer.fault);
      return answer.value;
    };
    const ingress = { read: request, write: request };
    const entered = (kind: string): ShardedMap =>
      new ShardedMap(ingress, this.names.map, actorsOfKind(kind).name, actorsOfKind(kind).shards);
    return new RestateIndexes({
      names: this.names,
      ingress,
      changes: this.indexes,
      kinds: kinds.map(({ kind }) => kind),
      clock: this.#options.patience ?? systemClock,
      entropy: this.#entropy,
      read: async (id) => {
        const answer = await request({ ...this.names.actor(id, "read"), input: null });
        return isSnapshot(answer) ? answer : undefined;
      },
      ids: async (kind, after, limit) =>
        (await entered(kind).list({ limit, ...(after === undefined ? {} : { after }) })).map(([key]) => key).filter(isAddress),
      count: (kind) => entered(kind).count(),
      fault: (error) => this.#threw(error),
      onProgress: (progress) => void this.built.push(progress),
    });
  }

  /** By its key alone: as after the server has forgotten the message's id. */
  async #inner({ work, n, outgoing, endsAt, key, waiting }: InnerCall): Promise<Reply> {
    const message = stampFrom(work, n, outgoing, endsAt, this.now, { hex: (bytes) => "0".repeat(bytes * 2), uuid: () => "unused" });
    const named = this.#named(message, innerKey(work, key, n, message.action, message.args));
    const outcome = await this.ask(
      this.names.actor(message.to, "turn"),
      this.#sealer(message.to).seal({ message, key: named, waiting: [...waiting] }),
    );
    if (!isOutcome(outcome)) throw new TypeError("This is no outcome.");
    if ("fault" in outcome) throw errorFrom(outcome.fault);
    if (outcome.reply === undefined) throw new TypeError("This answer comes later.");
    return outcome.reply;
  }

  #sdk(): RestateSdk {
    const handlers = new Map<unknown, Served>();
    const made = (served: Served): unknown => {
      const token = Symbol("handler");
      handlers.set(token, served);
      return token;
    };
    const serve: RestateSdk["object"] = ({ name, handlers: named }) => {
      for (const [handler, token] of Object.entries(named)) {
        const served = handlers.get(token);
        if (served !== undefined) this.#served.set(`${name} ${handler}`, served);
      }
      return { name };
    };
    return {
      object: serve,
      service: serve,
      handlers: {
        handler: (_, run) => made({ run, exclusive: false }),
        object: {
          exclusive: (_, run) => made({ run, exclusive: true }),
          shared: (_, run) => made({ run, exclusive: false }),
        },
      },
      serde: {
        json: {
          serialize: (value) => Buffer.from(JSON.stringify(value)),
          deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
        },
      },
      createEndpointHandler: () => () => undefined,
    };
  }
}

/** A context as the SDK presents it to a handler. */
function asSdk(context: DurableContext, key: string, cancelled: string[], keys: () => readonly string[]): ExclusiveContext {
  return {
    key,
    request: () => ({ id: context.invocation(), attemptCompletedSignal: context.superseded() }),
    async get(name, serde) {
      const text = await asSdkError(context.get(name));
      if (text === undefined) return null;
      const value: unknown = serde === undefined ? JSON.parse(text) : serde.deserialize(Buffer.from(text));
      return value;
    },
    set(name, value, serde) {
      if (serde === undefined) return context.set(name, JSON.stringify(value));
      if (typeof value !== "string") throw new TypeError(`${name} is set to something else than text.`);
      context.set(name, Buffer.from(serde.serialize(value)).toString("utf8"));
    },
    clear: (name) => context.clear(name),
    clearAll: () => keys().forEach((name) => context.clear(name)),
    run: (name, action) => asSdkError(context.run(name, action)),
    sleep: (ms) => asSdkError(context.sleep(ms)),
    genericCall: ({ service, method, key: to, parameter }) =>
      asSdkError(context.call({ object: service, handler: method, ...(to === undefined ? {} : { key: to }) }, parameter)),
    genericSend: ({ service, method, key: to, parameter, delay }) =>
      context.send({ object: service, handler: method, ...(to === undefined ? {} : { key: to }) }, parameter, delay),
    cancel: (invocation) => void cancelled.push(invocation),
  };
}

/** With the SDK's own error name. */
const asSdkError = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    if (error instanceof Error && error.name === "InvocationCancelled")
      throw Object.assign(new Error("Cancelled"), { name: "CancelledError" });
    throw error;
  });
