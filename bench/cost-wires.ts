// Clients of cost-search.ts: each sends a text and waits for its one answer.
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { WebSocket } from "ws";

export interface CostWire {
  /** The longest text worth sending: beyond it the server refuses by the length alone. */
  readonly longest: number;
  send(text: string): Promise<void>;
  close(): void;
}

const MIB = 1_048_576;
/** Room for what is around a value. */
const MARGIN = 8_192;

export function httpWire(url: string, headers: Readonly<Record<string, string>>, longest: number): CostWire {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    longest: longest - MARGIN,
    send: (text) =>
      new Promise((done, failed) => {
        const sent = request(url, { method: "POST", agent, headers: { "content-type": "application/json", ...headers } }, (response) => {
          // The head is the answer: a stream that it begins would not end.
          response.on("error", () => undefined).resume();
          if (response.headers["content-type"] === "text/event-stream") response.destroy();
          else response.once("end", done);
          response.once("close", done);
        });
        sent.once("error", failed);
        sent.end(text);
      }),
    close: () => agent.destroy(),
  };
}

/** The same with raw header lines, which node:http would correct. */
export function rawHttp(url: string, head: readonly string[], body: string): Promise<void> {
  const { hostname, port, pathname, host } = new URL(url);
  return new Promise((done) => {
    const socket = connect(Number(port), hostname);
    const lines = [`POST ${pathname} HTTP/1.1`, `host: ${host}`, "content-type: application/json", "connection: close", ...head];
    socket.on("error", () => undefined).on("close", () => done());
    socket.resume().write(`${lines.join("\r\n")}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
}

/** One JSON text a line. */
export function lineWire(url: string, longest = 4 * MIB): CostWire {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answered: (() => void) | undefined;
  socket.on("data", (chunk: Buffer) => void (chunk.includes(10) && answered?.())).on("error", () => undefined);
  let over = false;
  socket.once("close", () => {
    over = true;
    answered?.();
  });
  return {
    longest: longest - MARGIN,
    send: (text) =>
      new Promise((done) => {
        answered = done;
        if (over) done();
        socket.write(`${text.replaceAll("\n", " ")}\n`);
      }),
    close: () => void socket.destroy(),
  };
}

export async function socketWire(url: string, longest: number): Promise<CostWire> {
  const ws = new WebSocket(url);
  await new Promise((open, failed) => void ws.once("open", open).once("error", failed));
  ws.on("error", () => undefined);
  return {
    longest: longest - MARGIN,
    send: (text) =>
      new Promise((done) => {
        ws.once("message", () => done());
        ws.send(text);
      }),
    close: () => ws.terminate(),
  };
}

/** Theater's frames: a length, then JSON. */
export function theaterWire(url: string): CostWire {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answered: (() => void) | undefined;
  socket.on("data", () => answered?.()).on("error", () => undefined);
  let over = false;
  socket.once("close", () => {
    over = true;
    answered?.();
  });
  return {
    longest: 4 * MIB,
    send: (text) =>
      new Promise((done) => {
        answered = done;
        if (over) done();
        const body = Buffer.from(text);
        const length = Buffer.alloc(4);
        length.writeUInt32BE(body.length);
        socket.write(Buffer.concat([length, body]));
      }),
    close: () => void socket.destroy(),
  };
}
