// Server processes that share one session file, and a client that can be directed to either.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const KEYS = { ada: "a".repeat(32), bob: "b".repeat(32) };
export const as = (who: keyof typeof KEYS) => ({ authorization: `Bearer ${KEYS[who]}` });

export interface Processes extends AsyncDisposable {
  /** The address of each process. */
  readonly urls: readonly [string, string];
  readonly pids: readonly [string, string];
}

async function start(path: string) {
  const fixture = join(import.meta.dirname, "sessions-process.fixture.ts");
  const child = spawn(process.execPath, ["--conditions=troupe-source", fixture, path], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line]: unknown[] = await Promise.race([once(lines, "line"), ended.then(() => [])]);
  assert.ok(typeof line === "string", "the process printed its address");
  return {
    url: String(JSON.parse(line)),
    pid: String(child.pid),
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

export async function twoProcesses(): Promise<Processes> {
  const directory = mkdtempSync(join(tmpdir(), "troupe-processes-"));
  const [a, b] = await Promise.all([start(join(directory, "sessions.db")), start(join(directory, "sessions.db"))]);
  return {
    urls: [a.url, b.url],
    pids: [a.pid, b.pid],
    async [Symbol.asyncDispose]() {
      await Promise.all([a.end(), b.end()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The body up to `mark`; then it breaks off. */
const cutAfter = (body: ReadableStream<Uint8Array>, mark: string, cut: () => void): ReadableStream<Uint8Array> => {
  let text = "";
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        controller.enqueue(piece);
        text += new TextDecoder().decode(piece);
        if (!text.includes(mark)) return;
        controller.terminate();
        cut();
      },
    }),
  );
};

/**
 * Sends each request of a client to the server that is chosen now, wherever it meant it to go. A reply to a call of `walk`
 * breaks off once its stream has begun.
 */
export function roaming(urls: readonly string[]) {
  let at = 0;
  let session: string | undefined;
  const broke = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  return {
    go(to: number) {
      at = to;
    },
    get session() {
      return session;
    },
    breaksOff: broke.promise,
    /** Resolves when the client has resumed the stream and is answered. */
    asksAgain: again.promise,
    fetch: async (_url: string | URL, init?: RequestInit): Promise<Response> => {
      const response = await fetch(urls[at] ?? "", init);
      session = response.headers.get("mcp-session-id") ?? session;
      if (new Headers(init?.headers).has("last-event-id")) again.resolve();
      if (response.body === null || typeof init?.body !== "string" || !init.body.includes('"walk"')) return response;
      return new Response(cutAfter(response.body, "\n\n", broke.resolve), response);
    },
  };
}

/** A raw request in a session of 2025-11-25. */
export const raw = (url: string, session: string, verb: "POST" | "GET" | "DELETE", more: { headers?: object; body?: object } = {}) =>
  fetch(url, {
    method: verb,
    headers: {
      accept: verb === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      "mcp-session-id": session,
      "mcp-protocol-version": "2025-11-25",
      ...(more.body === undefined ? {} : { "content-type": "application/json" }),
      ...more.headers,
    },
    ...(more.body === undefined ? {} : { body: JSON.stringify({ jsonrpc: "2.0", ...more.body }) }),
  });

export interface ReadEvent {
  readonly id: string;
  readonly data: string;
}

/** The events of a stream, as they come. */
export async function* eventsOf(response: Response): AsyncGenerator<ReadEvent> {
  assert.ok(response.body);
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string =>
        fields
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim() ?? "";
      if (field("id") !== "") yield { id: field("id"), data: field("data") };
    }
  }
}
