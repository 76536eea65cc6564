import assert from "node:assert/strict";
import {
  type Answer,
  type JsonObject,
  type Caller,
  changedSession,
  type Gateway,
  type Json,
  type PeerListener,
  type Peers,
  type StreamStore,
} from "../../../core/contract/index.ts";
import { exchangeOf, gatewayOf, quiet, type Sent, sessionsDouble, streamsDouble, world, type World } from "../kit.fixture.ts";
import type { GatewayOptions } from "../options.ts";

export const ann: Caller = { principal: "iss|ann", scopes: [], peer: "127.0.0.1" };
export const bob: Caller = { principal: "iss|bob", scopes: [], peer: "127.0.0.1" };

const ACCEPT = { accept: "application/json, text/event-stream", "content-type": "application/json" };

/** Rows that several nodes write at once; each write takes a while. */
export function sharedSessions(): ReturnType<typeof sessionsDouble> {
  const store = sessionsDouble();
  return {
    ...store,
    async get(id) {
      await quiet();
      return store.rows.get(id);
    },
    async change(id, change) {
      await quiet();
      const row = store.rows.get(id);
      if (row === undefined) return undefined;
      const changed = changedSession(row, change);
      store.rows.set(id, changed);
      return changed;
    },
  };
}

export interface Cluster extends AsyncDisposable {
  readonly net: Network;
  readonly world: World;
  readonly sessions: ReturnType<typeof sessionsDouble>;
  readonly streams: StreamStore;
  /** In the order of their letters. */
  readonly nodes: readonly Gateway[];
  /** Cuts the node off from the others. */
  kill(at: number): void;
}

export interface ClusterOptions extends Partial<Omit<GatewayOptions, "sessions">> {
  readonly sessions?: ReturnType<typeof sessionsDouble>;
  /** The peers of each node. Default: those of a network in this process. */
  readonly joined?: readonly Peers[];
  /** The nodes share the stores, and cannot reach each other. */
  readonly unreached?: boolean;
  /** The world of each node. Default: one for all. */
  readonly worlds?: readonly World[];
}

/** Gateways `a`, `b`, … over the same stores and the same world. */
export function cluster(count: number, { worlds, joined, unreached = false, ...options }: ClusterOptions = {}): Cluster {
  const net = network();
  const made = world();
  const sessions = options.sessions ?? sharedSessions();
  const streams = options.streams ?? streamsDouble();
  const letters = ["a", "b", "c"].slice(0, count);
  const nodes = letters.map((letter, at) =>
    gatewayOf((worlds?.[at] ?? made).source, {
      rateLimit: false,
      requestStateKey: new Uint8Array(32),
      ...options,
      sessions,
      streams,
      ...(unreached ? { sharedSessions: true } : { peers: joined?.[at] ?? net.join(letter) }),
    }),
  );
  return {
    net,
    world: made,
    sessions,
    streams,
    nodes,
    kill: (at) => net.cut((letters[at] ?? "").repeat(16)),
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    },
  };
}

/** A client of a cluster that chooses the node of each request. */
export interface RoamingClient {
  readonly id: string;
  post(at: number, body: unknown, caller?: Caller): Promise<Answer>;
  sent(at: number, body: unknown): { readonly sent: Sent; readonly answer: Promise<Answer> };
  get(at: number, lastEventId?: string): Promise<{ readonly sent: Sent; readonly answer: Answer }>;
  delete(at: number): Promise<Answer>;
}

export async function begin(
  { nodes }: Cluster,
  at: number,
  how: { readonly version?: string; readonly caller?: Caller; readonly capabilities?: JsonObject } = {},
): Promise<RoamingClient> {
  const { version = "2025-11-25", caller = ann, capabilities = { elicitation: {} } } = how;
  const node = (index: number): Gateway => {
    const found = nodes[index];
    assert.ok(found);
    return found;
  };
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: version, capabilities, clientInfo: { name: "t", version: "1" } },
  };
  const { status, headers: given } = await node(at).exchange(exchangeOf("POST", ACCEPT, initialize, caller).exchange);
  assert.equal(status, 200);
  const id = given?.["mcp-session-id"] ?? "";
  const headers = { ...ACCEPT, "mcp-session-id": id, "mcp-protocol-version": version };
  return {
    id,
    post: async (to, body, as = caller) => node(to).exchange(exchangeOf("POST", headers, body, as).exchange),
    sent(to, body) {
      const sent = exchangeOf("POST", headers, body, caller);
      return { sent, answer: Promise.resolve(node(to).exchange(sent.exchange)) };
    },
    async get(to, lastEventId) {
      const more = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      const sent = exchangeOf("GET", { ...headers, ...more }, undefined, caller);
      return { sent, answer: await node(to).exchange(sent.exchange) };
    },
    delete: async (to) => node(to).exchange(exchangeOf("DELETE", headers, undefined, caller).exchange),
  };
}

export const request = (method: string, params: JsonObject = {}, id: number | string = 1): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
export const call = (name: string, id: number | string = 1, meta?: JsonObject): JsonObject =>
  request("tools/call", { name, arguments: {}, ...(meta === undefined ? {} : { _meta: meta }) }, id);

/** One message on its way from node to node. */
export interface Passing {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
  readonly message: Json;
}

/** Nodes in one process, and the faults between them. */
export interface Network {
  join(letter: string): Peers;
  /** Which messages are lost from now on. */
  lose(which: (passing: Passing) => boolean): void;
  /** Cuts a node off; the others are notified of a gap. */
  cut(node: string): void;
  /** Notifies all that something may have been lost. */
  gap(): void;
  readonly passed: readonly Passing[];
}

interface Node {
  readonly listeners: Map<string, PeerListener>;
  readonly gaps: Set<() => void>;
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const nothing = (): boolean => false;

export function network(): Network {
  const nodes = new Map<string, Node>();
  const passed: Passing[] = [];
  let lost: (passing: Passing) => boolean = nothing;

  const pass = async (passing: Passing): Promise<Json | undefined> => {
    passed.push(passing);
    await nextRound();
    const node = nodes.get(passing.to);
    if (node === undefined || !nodes.has(passing.from) || lost(passing)) return undefined;
    const copy: Json = JSON.parse(JSON.stringify(passing.message));
    const reply = await node.listeners.get(passing.topic)?.(copy, passing.from);
    await nextRound();
    return nodes.has(passing.from) && nodes.has(passing.to) ? reply : undefined;
  };

  const gap = (): void => {
    for (const { gaps } of nodes.values()) for (const run of gaps) run();
  };

  return {
    passed,
    gap,
    lose(which) {
      lost = which;
    },
    cut(node) {
      nodes.delete(node);
      gap();
    },
    join(letter) {
      const self = letter.repeat(16);
      const node: Node = { listeners: new Map(), gaps: new Set() };
      nodes.set(self, node);
      return {
        self,
        tell(topic, message) {
          for (const to of nodes.keys()) if (to !== self) void pass({ from: self, to, topic, message });
        },
        ask: (to, topic, message) => pass({ from: self, to, topic, message }),
        on(topic, listen) {
          node.listeners.set(topic, listen);
          return () => void node.listeners.delete(topic);
        },
        onGap(run) {
          node.gaps.add(run);
          return () => void node.gaps.delete(run);
        },
        async [Symbol.asyncDispose]() {
          nodes.delete(self);
        },
      };
    },
  };
}
