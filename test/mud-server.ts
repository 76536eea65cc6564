// A MUD server in this process: one world in memory, with any number of clients.
import { createHash } from "node:crypto";
import { loadWorld, mud, type World, worlds } from "../examples/mud/index.ts";
import type { Entropy, Gateway, Source, Store } from "../src/core/contract/index.ts";
import { LocalEngine } from "../src/core/engine/index.ts";
import { createGateway, type GatewayOptions } from "../src/mcp/gateway/index.ts";
import { cast } from "../src/mcp/source/index.ts";
import { memorySessionStore, memoryStore, memoryStreamStore } from "../src/core/store/index.ts";
import { connectInMemory } from "../src/mcp/transport/index.ts";
import { type JsonObject, envelope, isJsonObject } from "./wire.ts";

/** A client that sends any message and records what it receives. */
export interface Visitor extends AsyncDisposable {
  /** All received messages, in order. */
  readonly frames: readonly unknown[];
  /** Methods of the notifications so far. */
  readonly heard: readonly string[];
  say(message: object): void;
  request(method: string, params?: JsonObject): Promise<unknown>;
  /** The result of a tool. */
  call(tool: string, args?: JsonObject): Promise<unknown>;
  /** Walks; throws if a step is refused. */
  go(...ways: readonly string[]): Promise<void>;
  /** A resource's JSON. */
  read(uri: string): Promise<unknown>;
  /** Resolves with the first matching frame, including earlier ones. */
  until(fits: (frame: unknown) => boolean): Promise<unknown>;
}

export interface MudServer extends AsyncDisposable {
  readonly world: World;
  readonly engine: LocalEngine;
  readonly source: Source;
  readonly gateway: Gateway;
  /** A legacy client of that principal, initialized. */
  enter(principal: string, how?: { readonly capabilities?: JsonObject; readonly version?: string }): Promise<Visitor>;
  /** A client of 2026-07-28. */
  modern(principal: string | undefined, how?: { readonly capabilities?: JsonObject }): Visitor;
  /** Resolves when no message between actors is undelivered, and all notifications were sent. */
  quiet(): Promise<void>;
}

export interface MudServerOptions {
  readonly world?: World;
  readonly gateway?: Partial<GatewayOptions>;
  /** Default: in memory. The server closes it. */
  readonly store?: Store;
  /** The source of randomness. */
  readonly entropy?: Entropy;
}

/** The same hex digits on every run. */
export const seededEntropy = (seed: number): Entropy & { below(bound: number): number } => {
  let count = 0;
  const hex = (bytes: number): string => {
    let text = "";
    while (text.length < bytes * 2)
      text += createHash("sha256")
        .update(`${seed}/${(count += 1)}`)
        .digest("hex");
    return text.slice(0, bytes * 2);
  };
  return {
    hex,
    uuid: () => hex(16).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5"),
    below: (bound) => Number.parseInt(hex(6), 16) % bound,
  };
};

const eventLoopTurns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((done) => void setImmediate(done));
};

const isReplyTo = (frame: unknown, id: string): boolean => isJsonObject(frame) && frame["id"] === id && !("method" in frame);

const visit = (gateway: Gateway, principal: string | undefined, meta: JsonObject | undefined): Visitor => {
  const client = connectInMemory(gateway, principal === undefined ? { scopes: [] } : { principal, scopes: [] });
  const frames: unknown[] = [];
  const heard: string[] = [];
  const waiting = new Set<() => void>();
  client.onMessage((text) => {
    const frame: unknown = JSON.parse(text);
    frames.push(frame);
    if (isJsonObject(frame) && typeof frame["method"] === "string" && !("id" in frame)) heard.push(frame["method"]);
    for (const run of Array.from(waiting)) run();
  });
  const until = (fits: (frame: unknown) => boolean): Promise<unknown> =>
    new Promise((done) => {
      const run = (): void => {
        const found = frames.find(fits);
        if (found === undefined) return;
        waiting.delete(run);
        done(found);
      };
      waiting.add(run);
      run();
    });
  let next = 0;
  const request = async (method: string, params: JsonObject = {}): Promise<unknown> => {
    const id = `v${(next += 1)}`;
    const withMeta =
      meta === undefined ? params : { ...params, _meta: { ...meta, ...(isJsonObject(params["_meta"]) ? params["_meta"] : {}) } };
    client.send({ jsonrpc: "2.0", id, method, params: withMeta });
    return until((frame) => isReplyTo(frame, id));
  };
  const call = async (name: string, args: JsonObject = {}): Promise<unknown> => {
    const reply = await request("tools/call", { name, arguments: args });
    if (!isJsonObject(reply) || !("result" in reply)) throw new Error(JSON.stringify(reply));
    return reply["result"];
  };
  return {
    frames,
    heard,
    until,
    request,
    call,
    say: (message) => client.send(message),
    async go(...ways) {
      for (const direction of ways) {
        const result = await call("move", { direction });
        if (isJsonObject(result) && result["isError"] === true) throw new Error(`${direction}: ${JSON.stringify(result["content"])}`);
      }
    },
    async read(uri) {
      const reply = await request("resources/read", { uri });
      const contents = isJsonObject(reply) && isJsonObject(reply["result"]) ? reply["result"]["contents"] : undefined;
      const first: unknown = Array.isArray(contents) ? contents[0] : undefined;
      if (!isJsonObject(first)) throw new Error(JSON.stringify(reply));
      return JSON.parse(String(first["text"]));
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
};

/** The Keep of Three Keys unless another world is given. */
export const startMud = async ({
  world = loadWorld(worlds[0] ?? ""),
  gateway: options = {},
  store = memoryStore(),
  entropy,
}: MudServerOptions = {}): Promise<MudServer> => {
  const kinds = mud(world);
  const engine = await LocalEngine.start({ kinds, store, ...(entropy === undefined ? {} : { entropy }) });
  const source = cast({ engine, kinds });
  const sessions = memorySessionStore();
  const streams = memoryStreamStore();
  const gateway = createGateway({ source, info: { name: "MUD", version: "1" }, sessions, streams, rateLimit: false, ...options });
  return {
    world,
    engine,
    source,
    gateway,
    async enter(principal, { capabilities = {}, version = "2025-11-25" } = {}) {
      const visitor = visit(gateway, principal, undefined);
      await visitor.request("initialize", { protocolVersion: version, capabilities, clientInfo: { name: "visitor", version: "1" } });
      visitor.say({ jsonrpc: "2.0", method: "notifications/initialized" });
      return visitor;
    },
    async quiet() {
      for (let still = 0; still < 3;) {
        await eventLoopTurns(4);
        still = (await store.undelivered(1)).length === 0 ? still + 1 : 0;
      }
      await eventLoopTurns(8);
    },
    modern: (principal, { capabilities = {} } = {}) => visit(gateway, principal, envelope(capabilities)),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
      await sessions[Symbol.asyncDispose]();
      await streams[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
};
