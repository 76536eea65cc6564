// A packet server that does what a test defines, behind all three transports.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { type Socket, createServer as createTcpServer } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { type Json, isJsonObject } from "../../core/contract/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { PACKET_PROTOCOL } from "./packet.ts";

/** A packet from a client, and how to answer it. */
export interface Heard {
  readonly packet: Readonly<Record<string, Json>>;
  /** Replies with the packet's id. */
  readonly reply: (type: string, payload: object, more?: object) => void;
  /** Sends any text. */
  readonly say: (text: string) => void;
  /** Breaks the connection. */
  readonly drop: () => void;
}

export interface PacketServer extends AsyncDisposable {
  readonly url: string;
  /** Connections so far; over HTTP, requests. */
  readonly connections: number;
  readonly heard: readonly Heard["packet"][];
  /** Details of the newest connection or request. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Breaks all open connections. */
  readonly dropAll: () => void;
}

export type Answering = (heard: Heard) => void;

class State {
  readonly heard: Heard["packet"][] = [];
  connections = 0;
  headers: PacketServer["headers"] = {};

  take(text: string, answering: Answering, say: (text: string) => void, drop: () => void): void {
    const packet: unknown = JSON.parse(text);
    if (!isJsonObject(packet)) throw new Error(`no packet: ${text}`);
    this.heard.push(packet);
    const { id } = packet;
    answering({
      packet,
      say,
      drop,
      reply: (type, payload, more = {}) =>
        say(JSON.stringify({ version: "1.0", type, ...(id === undefined ? {} : { id }), payload, context: {}, metadata: {}, ...more })),
    });
  }
}

/** A port other than 0 replaces a server that was closed. */
export async function tcpPackets(answering: Answering, port = 0): Promise<PacketServer> {
  const state = new State();
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    state.connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    let rest = "";
    socket.on("data", (chunk) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines)
        state.take(
          line,
          answering,
          (text) => void socket.write(`${text}\n`),
          () => void socket.end(),
        );
    });
  });
  const loopback = await onLoopback(server, port);
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return served(state, `tcp://127.0.0.1:${loopback.port}`, dropAll, () => loopback[Symbol.asyncDispose]());
}

export async function webSocketPackets(answering: Answering): Promise<PacketServer> {
  const state = new State();
  const sockets = new Set<WebSocket>();
  const http = createServer();
  const server = new WebSocketServer({
    server: http,
    path: "/packets",
    handleProtocols: (offered) => offered.has(PACKET_PROTOCOL) && PACKET_PROTOCOL,
  });
  server.on("connection", (socket, request) => {
    state.connections += 1;
    state.headers = request.headers;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // In this library a text frame is a Buffer too.
    socket.on("message", (data) =>
      state.take(
        Buffer.isBuffer(data) ? data.toString() : "",
        answering,
        (text) => socket.send(text),
        () => socket.close(),
      ),
    );
  });
  const loopback = await onLoopback(http);
  const dropAll = (): void => {
    for (const socket of sockets) socket.terminate();
  };
  return served(state, `ws://127.0.0.1:${loopback.port}`, dropAll, () => loopback[Symbol.asyncDispose]());
}

/** `before` handles a request instead of the packet endpoint by returning true. */
export async function httpPackets(
  answering: Answering,
  before: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<PacketServer> {
  const state = new State();
  const server = createServer((request, response) => {
    state.connections += 1;
    state.headers = request.headers;
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (before(request, response)) return;
      const isLines = request.headers["content-type"] === "application/x-ndjson";
      response.setHeader("content-type", isLines ? "application/x-ndjson" : "application/json");
      const say = (text: string): void => {
        if (!isLines) return void response.end(text);
        response.write(`${text}\n`);
        if (!text.includes("capability_progress")) response.end();
      };
      state.take(body, answering, say, () => response.destroy());
    });
  });
  const { url, ...loopback } = await onLoopback(server);
  const dropAll = (): void => server.closeAllConnections();
  return served(state, url, dropAll, () => loopback[Symbol.asyncDispose]());
}

function served(state: State, url: string, dropAll: () => void, close: () => Promise<void>): PacketServer {
  return {
    url,
    dropAll,
    heard: state.heard,
    get connections() {
      return state.connections;
    },
    get headers() {
      return state.headers;
    },
    [Symbol.asyncDispose]: close,
  };
}
