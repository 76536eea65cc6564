import { wasmCall } from "../chain/actor-events.ts";
import { link } from "../chain/link.ts";
import {
  type ActorEnd,
  type ChainPage,
  type ChannelPeer,
  type EventQuery,
  type StageActor,
  type StageChannel,
  type StageDetails,
  StageError,
  type StageEvent,
  type StageStart,
  type StageStatus,
  type TheaterEvent,
  type TheaterStage,
} from "../stage.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

interface Listener {
  event(event: TheaterEvent): void;
  ended(end: ActorEnd): void;
}

/** An actor whose state is the last message sent to it. */
class MemoryActor {
  status: StageStatus = "RUNNING";
  state: Uint8Array | undefined;
  component = "store:first";
  readonly id: string;
  readonly name: string;
  readonly manifestContent: string;
  readonly chain: TheaterEvent[] = [];
  readonly listeners = new Set<Listener>();
  readonly peers = new Map<string, ChannelPeer>();
  readonly received: string[] = [];

  constructor(id: string, manifest: string) {
    this.id = id;
    this.name = /name *= *"([^"]*)"/.exec(manifest)?.[1] ?? "nameless";
    this.manifestContent = manifest;
    this.record("init");
  }

  record(what: string): void {
    const event = link(wasmCall(what, bytes("[]")), this.chain.at(-1)?.hash ?? null, 1_745_424_600_000 + this.chain.length);
    this.chain.push(event);
    for (const listener of this.listeners) listener.event(event);
  }

  end(end: ActorEnd): void {
    for (const listener of Array.from(this.listeners)) listener.ended(end);
  }
}

/**
 * A stage in memory. Requests are answered with `<name>:<text>`; `wait` waits for `settle`, and `trap` fails the actor. A channel opened
 * with `no` is refused; others greet with `welcome` and echo messages, and `bye` closes them.
 */
export class MemoryStage implements TheaterStage {
  readonly actors = new Map<string, MemoryActor>();
  readonly stops: string[] = [];
  #count = 0;
  #waiting = Promise.withResolvers<void>();

  find(id: string): MemoryActor {
    const actor = this.actors.get(id) ?? Array.from(this.actors.values()).find(({ name }) => name === id);
    if (actor === undefined) throw new StageError("ActorNotFound", "There is no such actor: list them.");
    return actor;
  }

  /** Releases all requests that wait. */
  settle(): void {
    this.#waiting.resolve();
    this.#waiting = Promise.withResolvers();
  }

  async list(limit: number, after = ""): Promise<readonly StageActor[]> {
    const all = Array.from(this.actors.values()).toSorted((one, other) => (one.id < other.id ? -1 : 1));
    return all.filter(({ id }) => id > after).slice(0, limit);
  }

  async count(): Promise<number> {
    return this.actors.size;
  }

  async actor(id: string): Promise<StageDetails> {
    const { status, name, manifestContent, component, ...actor } = this.find(id);
    const metrics = {
      operations: 3,
      failedOperations: 1,
      totalMs: 2.5,
      maxMs: 2,
      minMs: 0.5,
      memoryBytes: null,
      queued: null,
      startedAt: 1_745_424_600_000,
      lastAt: 1_745_424_601_500,
    };
    return { id: actor.id, name, status, manifest: component, manifestContent, metrics };
  }

  async state(id: string): Promise<Uint8Array | undefined> {
    return this.find(id).state;
  }

  async start({ manifest, initialState }: StageStart): Promise<StageActor> {
    if (manifest.includes("fails")) throw new StageError("ActorInitializationError", "Its init said no: look into the manifest.");
    if (manifest.includes("breaks")) throw new TypeError("A secret of the inside.");
    this.#count += 1;
    const actor = new MemoryActor(`00000000-0000-4000-8000-${String(this.#count).padStart(12, "0")}`, manifest);
    actor.state = initialState;
    this.actors.set(actor.id, actor);
    return actor;
  }

  async stop(id: string): Promise<void> {
    const actor = this.find(id);
    this.actors.delete(actor.id);
    this.stops.push(actor.id);
    actor.end({ how: "external-stop" });
  }

  terminate(id: string): Promise<void> {
    return this.stop(id);
  }

  async restart(id: string): Promise<StageActor> {
    const actor = this.find(id);
    actor.status = "RUNNING";
    actor.record("restart");
    return actor;
  }

  async send(id: string, data: Uint8Array): Promise<void> {
    const actor = this.find(id);
    if (actor.status === "PAUSED") throw new StageError("ActorNotRunning", "It is paused: restart it.");
    actor.state = data;
    actor.record("send");
  }

  async request(id: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const actor = this.find(id);
    const text = Buffer.from(data).toString();
    actor.received.push(text);
    signal.addEventListener("abort", () => actor.received.push(`${text} given up`));
    if (text === "wait") await this.#waiting.promise;
    if (text === "shutdown") actor.end({ how: "success", result: bytes("done") });
    if (text === "trap") {
      actor.record("trap");
      actor.status = "PAUSED";
      actor.end({ how: "error", event: actor.chain.at(-1), message: "unreachable" });
      throw new StageError("ActorError", "It trapped: unreachable. It is paused; restart it.");
    }
    if (text === "much") return new Uint8Array(Buffer.alloc(2_000_000, 0x78));
    actor.record("request");
    return bytes(`${actor.name}:${text}`);
  }

  async open(id: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    const actor = this.find(id);
    const text = Buffer.from(initial).toString();
    if (text === "no") throw new StageError("ChannelRejected", "It did not accept: send it messages.");
    const channel = `ch_${String(actor.peers.size).padStart(16, "0")}`;
    actor.peers.set(channel, peer);
    if (text === "eager") peer.message(bytes("at once"));
    if (text === "brief") peer.closed("It had nothing to say.");
    return Promise.resolve({
      id: channel,
      greeting: bytes("welcome"),
      send: (data) => {
        peer.message(bytes(`back ${Buffer.from(data).toString()}`));
        if (Buffer.from(data).toString() === "bye") peer.closed("It was time.");
        return Promise.resolve();
      },
      close: () => {
        actor.received.push(`${channel} closed`);
        return Promise.resolve();
      },
    });
  }

  async events(_id: string, _query: EventQuery): Promise<readonly StageEvent[]> {
    return [];
  }

  async event(_id: string): Promise<StageEvent | undefined> {
    return undefined;
  }

  watch(): () => void {
    return () => undefined;
  }

  async chain(id: string): Promise<readonly TheaterEvent[]> {
    return Array.from(this.find(id).chain);
  }

  async chainPage(id: string, { limit }: EventQuery): Promise<ChainPage> {
    const { chain } = this.find(id);
    return { events: chain.slice(-limit), more: chain.length > limit };
  }

  async follow(id: string, listener: Listener): Promise<() => void> {
    const { listeners } = this.find(id);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  async update(id: string, component: string): Promise<void> {
    this.find(id).component = component;
  }

  async newStore(): Promise<string> {
    return "11111111-0000-4000-8000-000000000001";
  }

  async content(): Promise<Uint8Array | undefined> {
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
