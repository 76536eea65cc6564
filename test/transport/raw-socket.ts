// A client that sends any bytes.
import { connect, type NetConnectOpts, type Socket } from "node:net";

export interface RawSocket extends AsyncDisposable {
  readonly socket: Socket;
  /** Everything received so far. */
  text(): string;
  write(data: string | Uint8Array): void;
  end(): void;
  /** Resolves with everything received once `found` is in it; rejects if the other side ends before. */
  until(found: string | RegExp | ((text: string) => boolean)): Promise<string>;
  /** Resolves with everything received when the other side has closed. */
  closed(): Promise<string>;
}

export async function rawSocket(to: NetConnectOpts | number): Promise<RawSocket> {
  const socket = connect(typeof to === "number" ? { host: "127.0.0.1", port: to } : to);
  let text = "";
  let over = false;
  const watchers = new Set<() => void>();
  const changed = (): void => {
    for (const run of Array.from(watchers)) run();
  };
  const decoder = new TextDecoder();
  socket.on("data", (chunk) => {
    text += decoder.decode(typeof chunk === "string" ? Buffer.from(chunk) : chunk, { stream: true });
    changed();
  });
  socket.on("error", () => {});
  socket.on("end", () => {
    over = true;
    changed();
  });
  socket.on("close", () => {
    over = true;
    changed();
  });
  await new Promise<void>((done, failed) => {
    socket.once("connect", done);
    socket.once("error", failed);
  });
  const wait = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((done, failed) => {
      const run = (): void => {
        try {
          const value = look();
          if (value === undefined) return;
          watchers.delete(run);
          done(value);
        } catch (error) {
          watchers.delete(run);
          failed(error);
        }
      };
      watchers.add(run);
      run();
    });
  return {
    socket,
    text: () => text,
    write: (data) => void socket.write(data),
    end: () => void socket.end(),
    until: (found) =>
      wait(() => {
        const there = typeof found === "string" ? text.includes(found) : found instanceof RegExp ? found.test(text) : found(text);
        if (there) return text;
        if (over) throw new Error(`the other side ended before ${String(found)}; it sent: ${text.slice(0, 2_000)}`);
        return undefined;
      }),
    closed: () => wait(() => (over ? text : undefined)),
    async [Symbol.asyncDispose]() {
      if (socket.destroyed) return;
      const closed = new Promise<void>((done) => void socket.once("close", () => done()));
      socket.destroy();
      await closed;
    },
  };
}

/** A POST as text. */
export function post(body: string, headers: Readonly<Record<string, string>> = {}, path = "/mcp"): string {
  const all: Record<string, string> = {
    host: "127.0.0.1",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A request head as text, without additions. */
export const head = (first: string, ...lines: string[]): string => `${[first, ...lines].join("\r\n")}\r\n\r\n`;
