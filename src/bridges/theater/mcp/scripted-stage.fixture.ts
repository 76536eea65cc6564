import type { Json } from "../../../core/contract/index.ts";
import {
  type ChannelPeer,
  type EventQuery,
  type Stage,
  type StageActor,
  type StageChange,
  type StageChannel,
  type StageCode,
  type StageDetails,
  StageError,
  type StageEvent,
  type StageStart,
} from "../stage.ts";

const utf8 = new TextEncoder();
export const bytesOf = (text: string): Uint8Array => utf8.encode(text);
export const base64 = (value: unknown): string => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64");
export const fromBase64 = (text: unknown): string => Buffer.from(String(text), "base64").toString();

export const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** An actor of the fixture, which tests may change. */
interface ScriptedActor {
  details: StageDetails;
  state: Uint8Array | undefined;
  readonly events: StageEvent[];
}

/** A stage in memory. Its actors store and echo what they receive, and its methods fail on demand. */
export class ScriptedStage implements Stage {
  readonly actors = new Map<string, ScriptedActor>();
  readonly started: StageStart[] = [];
  readonly peers = new Map<string, ChannelPeer>();
  readonly sent: { readonly channel: string; readonly data: string }[] = [];
  readonly closed: string[] = [];
  /** Errors that methods throw. */
  readonly failing = new Map<keyof Stage, StageError>();
  /** The actors that are prioritized, each as often as it is. */
  readonly prioritized: string[] = [];
  readonly #listeners = new Set<(change: StageChange) => void>();
  /** Requests and opens wait until it settles. */
  blocked: Promise<void> | undefined;
  requestSignal: AbortSignal | undefined;
  greeting: Uint8Array | undefined = bytesOf("welcome");
  listCalls = 0;
  #count = 0;
  #channels = 0;

  get watched(): number {
    return this.#listeners.size;
  }

  /** Adds an actor without notifying watchers. */
  add(name: string, more: Partial<StageDetails> = {}): string {
    this.#count += 1;
    const id = more.id ?? uuid(this.#count);
    const details: StageDetails = {
      id,
      name,
      status: "RUNNING",
      manifest: `${name}.toml`,
      manifestContent: `name = "${name}"`,
      createdAt: 1_745_418_600_000,
      metrics: null,
      ...more,
    };
    this.actors.set(id, { details, state: undefined, events: [] });
    return id;
  }

  addEvent(id: string, type: string, data: Json | Uint8Array, children: readonly string[] = []): StageEvent {
    const { events } = this.#find(id);
    const parent = events.at(-1);
    const event: StageEvent = {
      id: `${id.slice(-2)}e${events.length + 1}`,
      actor: id,
      at: 1_745_418_600_000 + events.length * 1_000,
      type,
      parent: parent?.id ?? null,
      data,
      children,
    };
    if (parent !== undefined) events[events.length - 1] = { ...parent, children: [event.id, ...parent.children] };
    events.push(event);
    this.notify({ actor: id, what: "changed" });
    return event;
  }

  pause(id: string, why: string): void {
    const actor = this.#find(id);
    actor.details = { ...actor.details, status: "PAUSED", halted: { after: actor.events.at(-1)?.id ?? "0", why } };
    this.notify({ actor: id, what: "changed" });
  }

  notify(change: StageChange): void {
    for (const listener of Array.from(this.#listeners)) listener(change);
  }

  async list(limit: number, after = ""): Promise<readonly StageActor[]> {
    this.listCalls += 1;
    this.#fail("list");
    const all = Array.from(this.actors.values(), ({ details: { id, name, given, status } }) => ({
      id,
      name,
      ...(given === undefined ? {} : { given }),
      status,
    }));
    return all
      .filter(({ id }) => id > after)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit);
  }

  async count(): Promise<number> {
    this.#fail("count");
    return this.actors.size;
  }

  async actor(id: string): Promise<StageDetails> {
    this.#fail("actor");
    return this.#find(id).details;
  }

  async state(id: string): Promise<Uint8Array | undefined> {
    this.#fail("state");
    return this.#find(id).state;
  }

  async start(start: StageStart): Promise<StageActor> {
    this.#fail("start");
    this.started.push(start);
    const name = start.name ?? "actor";
    if (start.name !== undefined && Array.from(this.actors.values()).some(({ details }) => details.name === start.name))
      throw new StageError("ActorAlreadyExists", `an actor named ${name} runs already`);
    const id = this.add(name);
    this.#find(id).state = start.initialState;
    this.notify({ actor: id, what: "began" });
    return { id, name, status: "RUNNING" };
  }

  async stop(id: string): Promise<void> {
    this.#fail("stop");
    this.#find(id);
    this.actors.delete(id);
    this.notify({ actor: id, what: "ended" });
  }

  async restart(id: string): Promise<StageActor> {
    this.#fail("restart");
    const actor = this.#find(id);
    const { halted: _halted, ...details } = actor.details;
    actor.details = { ...details, status: "RUNNING" };
    this.addEvent(actor.details.id, "Restarted", null);
    return actor.details;
  }

  async send(id: string, data: Uint8Array): Promise<void> {
    this.#fail("send");
    const actor = this.#running(id);
    actor.state = data;
    this.addEvent(id, "StateChanged", data);
  }

  async request(id: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    this.#fail("request");
    this.#running(id);
    this.requestSignal = signal;
    await this.blocked;
    this.addEvent(id, "StateChanged", data);
    return data;
  }

  async open(id: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    this.#fail("open");
    this.#running(id);
    await this.blocked;
    this.#channels += 1;
    const channel = `ch_${String(this.#channels).padStart(16, "0")}`;
    this.peers.set(channel, peer);
    this.sent.push({ channel, data: Buffer.from(initial).toString() });
    return {
      id: channel,
      ...(this.greeting === undefined ? {} : { greeting: this.greeting }),
      send: async (data) => void this.sent.push({ channel, data: Buffer.from(data).toString() }),
      close: async () => void this.closed.push(channel),
    };
  }

  async events(id: string, { after, before, limit }: EventQuery): Promise<readonly StageEvent[]> {
    this.#fail("events");
    const { events } = this.#find(id);
    if (after !== undefined) {
      const at = events.findIndex((event) => event.id === after);
      if (at < 0) throw new StageError("InvalidRequest", `the actor has no event ${after}`);
      return events.slice(at + 1, at + 1 + limit);
    }
    const end = before === undefined ? events.length : events.findIndex((event) => event.id === before);
    return events.slice(Math.max(0, end - limit), Math.max(0, end));
  }

  async event(eventId: string): Promise<StageEvent | undefined> {
    this.#fail("event");
    return [...this.actors.values()].flatMap(({ events }) => events).find(({ id }) => id === eventId);
  }

  watch(listener: (change: StageChange) => void): () => void {
    const own = (change: StageChange): void => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  prioritize(id: string): () => void {
    this.prioritized.push(id);
    return () => void this.prioritized.splice(this.prioritized.indexOf(id), 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }

  fail(method: keyof Stage, code: StageCode, message: string): void {
    this.failing.set(method, new StageError(code, message));
  }

  #fail(method: keyof Stage): void {
    const error = this.failing.get(method);
    if (error !== undefined) throw error;
  }

  #find(named: string): ScriptedActor {
    const actor = this.actors.get(named) ?? Array.from(this.actors.values()).find(({ details }) => details.name === named);
    if (actor === undefined) throw new StageError("ActorNotFound", `there is no actor ${named}`);
    return actor;
  }

  #running(id: string): ScriptedActor {
    const actor = this.#find(id);
    const { name, status, halted } = actor.details;
    if (status === "PAUSED") throw new StageError("ActorError", `${name} is paused after event ${halted?.after}`);
    return actor;
  }
}
