import { createHash, randomUUID } from "node:crypto";
import type { Json } from "../../../src/core/contract/index.ts";

/** As it goes over the wire. */
export type MockEvent = { readonly [key: string]: Json } & { readonly hash: readonly number[] };

export interface MockFollower {
  event(event: MockEvent): void;
  failed(event: MockEvent): void;
}

const bytesOf = (text: string): number[] => [...Buffer.from(text)];

/**
 * An actor that answers a request with its bytes, keeps what it is sent as its state, and fails at `fail`: then it is paused, as
 * upstream's are. A request `wait` is answered when somebody lets it.
 */
export class MockActor {
  readonly id = randomUUID();
  readonly name: string;
  readonly manifest: string;
  readonly startedAt = Date.now();
  readonly followers = new Set<MockFollower>();
  readonly chain: MockEvent[] = [];
  state: readonly number[] | null;
  paused = false;
  operations = 0;
  readonly #brokenTimes: boolean;
  #letGo: (() => void)[] = [];

  constructor(name: string, manifest: string, state: readonly number[] | null, brokenTimes: boolean) {
    this.name = name;
    this.manifest = manifest;
    this.state = state;
    this.#brokenTimes = brokenTimes;
  }

  begin(): void {
    this.#append("theater-runtime", { TheaterRuntime: { ActorLoadCall: { manifest_id: { hash: "00" } } } });
    this.#call("actor.init", [this.id], null);
  }

  send(data: readonly number[]): void {
    if (this.paused) return;
    if (Buffer.from(data).toString() === "fail") return this.#fail("message-server-client.handle-send", [data]);
    this.#become("message-server-client.handle-send", [data], data);
  }

  hear(channel: string, data: readonly number[]): void {
    if (!this.paused) this.#become("message-server-client.handle-channel-message", [channel, data], data);
  }

  /** Undefined: it failed. */
  async request(data: readonly number[]): Promise<readonly number[] | undefined> {
    if (this.paused) return undefined;
    const text = Buffer.from(data).toString();
    if (text === "fail") {
      this.#fail("message-server-client.handle-request", [randomUUID(), data]);
      return undefined;
    }
    if (text === "wait") await new Promise<void>((resolve) => this.#letGo.push(resolve));
    this.#call("message-server-client.handle-request", [randomUUID(), data], [data]);
    return data;
  }

  get waiting(): number {
    return this.#letGo.length;
  }

  letGo(): void {
    const waiting = this.#letGo;
    this.#letGo = [];
    for (const go of waiting) go();
  }

  #become(name: string, params: Json, state: readonly number[]): void {
    this.#append("wasm", this.#wasmCall(name, params));
    this.state = state;
    this.#result(name, null);
  }

  #wasmCall(name: string, params: Json): Json {
    return { Wasm: { WasmCall: { function_name: `theater:simple/${name}`, params: bytesOf(JSON.stringify(params)) } } };
  }

  #call(name: string, params: Json, result: Json): void {
    this.#append("wasm", this.#wasmCall(name, params));
    this.#result(name, result);
  }

  #result(name: string, result: Json): void {
    this.operations += 1;
    const pair: Json = [this.state, bytesOf(JSON.stringify(result))];
    this.#append("wasm", { Wasm: { WasmResult: { function_name: `theater:simple/${name}`, result: pair } } });
  }

  #fail(name: string, params: Json): void {
    this.#append("wasm", this.#wasmCall(name, params));
    this.paused = true;
    const error = { Wasm: { WasmError: { function_name: `theater:simple/${name}`, message: "it was told to fail" } } };
    const event = this.#append("wasm", error);
    for (const follower of this.followers) follower.failed(event);
  }

  #append(eventType: string, data: Json): MockEvent {
    const content = {
      hash: [],
      parent_hash: this.chain.at(-1)?.hash ?? null,
      event_type: eventType,
      data: bytesOf(JSON.stringify(data)),
      // Upstream's servers of April 2025 gave seconds since the call began.
      timestamp: this.#brokenTimes && eventType === "wasm" ? 0 : Date.now(),
      description: null,
    };
    const event = { ...content, hash: [...createHash("sha1").update(JSON.stringify(content)).digest()] };
    this.chain.push(event);
    for (const follower of this.followers) follower.event(event);
    return event;
  }
}

/** What a mock runs. Outlives its server, if a test wants that. */
export class MockActors {
  readonly running = new Map<string, MockActor>();
  readonly #brokenTimes: boolean;

  constructor(brokenTimes: boolean) {
    this.#brokenTimes = brokenTimes;
  }

  /** Undefined: no manifest that it could read. */
  make(manifest: string, state: readonly number[] | null): MockActor | undefined {
    const name = /^name\s*=\s*"([^"]*)"/mu.exec(manifest)?.[1];
    if (name === undefined) return undefined;
    const actor = new MockActor(name, manifest, state, this.#brokenTimes);
    this.running.set(actor.id, actor);
    return actor;
  }
}
