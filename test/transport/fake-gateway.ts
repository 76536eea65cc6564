// A gateway without MCP: it echoes, and lets a test observe and control what transports pass to it.
import type { Answer, Caller, Channel, Connection, Exchange, Gateway, Json } from "../../src/core/contract/index.ts";

export interface FakeConnection {
  readonly caller: Caller;
  readonly channel: Channel;
  readonly frames: string[];
  readonly closed: Promise<void>;
}

export interface FakeGateway extends Gateway {
  readonly connections: FakeConnection[];
  readonly exchanges: Exchange[];
  /** Work that a connection waits for before it is closed. */
  readonly held: Set<Promise<unknown>>;
}

export interface FakeOptions {
  readonly exchange?: (exchange: Exchange) => Answer | Promise<Answer>;
  readonly receive?: (text: string, channel: Channel, caller: Caller) => void;
}

const decoder = new TextDecoder();
export const textOf = (frame: Uint8Array | string | undefined): string => (typeof frame === "string" ? frame : decoder.decode(frame));

interface Sent {
  readonly id?: Json;
  readonly method?: string;
  readonly params?: Json;
}

const parse = (text: string): Sent | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

const PARSE_ERROR = { jsonrpc: "2.0", id: null, error: { code: -32700, message: "not JSON" } };

/** Answers each request with its method, parameters and caller. */
export function echoOf(text: string, caller: Caller): Json {
  const message = parse(text);
  if (message === undefined) return PARSE_ERROR;
  return {
    jsonrpc: "2.0",
    id: message.id ?? null,
    result: {
      method: message.method ?? null,
      params: message.params ?? null,
      principal: caller.principal ?? null,
      scopes: [...caller.scopes],
    },
  };
}

export function fakeGateway(options: FakeOptions = {}): FakeGateway {
  const connections: FakeConnection[] = [];
  const exchanges: Exchange[] = [];
  const held = new Set<Promise<unknown>>();
  return {
    connections,
    exchanges,
    held,
    connect(channel, caller): Connection {
      const frames: string[] = [];
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      connections.push({ caller, channel, frames, closed });
      return {
        receive(frame) {
          const text = textOf(frame);
          frames.push(text);
          if (options.receive === undefined) channel.send(JSON.stringify(echoOf(text, caller)));
          else options.receive(text, channel, caller);
        },
        async close() {
          await Promise.all(held);
          resolve();
        },
      };
    },
    async exchange(exchange) {
      exchanges.push(exchange);
      if (options.exchange !== undefined) return options.exchange(exchange);
      return { status: 200, body: JSON.stringify(echoOf(textOf(exchange.body), exchange.caller)) };
    },
    async drain() {
      await Promise.all(held);
    },
    async [Symbol.asyncDispose]() {},
  };
}
