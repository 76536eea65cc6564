import { Readable } from "node:stream";
import { type Clock, untilAborted } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { reasonOf } from "./error-mapping.ts";
import { type McpClient, type McpLibrary, type McpTransport, type SessionExpired, boundedFetch } from "./mcp-client.ts";
import type { HttpServer, UpstreamLinkOptions, StdioServer } from "./upstream-server.ts";

/** Messages within a second, beyond which they are a flood. */
const MAX_MESSAGES_PER_SECOND = 2_000;
/** How long a process may be silent before it is taken for one of the old era. */
const PROBE_MS = 5_000;
/** How long a server has to let a session end. */
const CLOSE_GRACE_MS = 2_000;
/** The client's own time-outs do not go by the injected clock: none of them is to ring. */
export const NO_TIMEOUT_MS = 2_147_483_647;

/** One connection to one server, from its handshake to its end. */
export class UpstreamConnection {
  readonly client: McpClient;
  /** Aborted at its end, with why. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #options: UpstreamLinkOptions;
  readonly #transport: UpstreamTransport;
  #received = 0;
  #currentSecond = -1;
  #receivedInSecond = 0;
  #closed: Promise<void> | undefined;
  #undoProbe: (() => void) | undefined;

  constructor(library: McpLibrary, server: StdioServer | HttpServer, options: UpstreamLinkOptions) {
    this.#options = options;
    this.signal = this.#end.signal;
    this.#transport = upstreamTransport(library, server, options, {
      onMessage: () => this.#count(),
      onLost: (reason) => this.#onLost(reason),
    });
    this.client = library.client(this.#transport.isProcess ? Math.min(PROBE_MS, options.timeoutMs) : NO_TIMEOUT_MS);
  }

  get isLegacy(): boolean {
    return this.client.getProtocolEra() === "legacy";
  }

  /** The handshake. `isLegacy`: known from an earlier one. */
  async open(isLegacy: boolean): Promise<void> {
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => this.#onLost("it did not answer in time"));
    try {
      await untilAborted(this.signal, () =>
        this.client.connect(this.#transport.transport, { timeout: NO_TIMEOUT_MS, ...(isLegacy && { prior: { kind: "legacy" } }) }),
      );
    } catch (error) {
      this.#onLost(reasonOf(error));
      throw error;
    } finally {
      undo();
    }
  }

  /** A call had no answer in time: a process that says nothing at all any more is ended. */
  probe(): void {
    if (!this.#transport.isProcess || this.#undoProbe !== undefined || this.signal.aborted) return;
    const received = this.#received;
    const probe = new AbortController();
    const ask = { timeout: NO_TIMEOUT_MS, signal: probe.signal };
    // Whatever comes back shows that it lives.
    void (this.isLegacy ? this.client.ping(ask) : this.client.discover(ask)).catch(() => undefined);
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => {
      this.#undoProbe?.();
      if (this.#received === received) this.#onLost("it does not answer any more");
    });
    this.#undoProbe = () => {
      this.#undoProbe = undefined;
      undo();
      probe.abort();
    };
  }

  /** The server does not know it any more. */
  sessionExpired({ message }: SessionExpired): void {
    this.#onLost(message);
  }

  /** Ends it in good order. Never rejects. */
  async close(): Promise<void> {
    await this.#shutDown("it is closed", async () => {
      const tooLong = pause(this.#options.clock, CLOSE_GRACE_MS);
      await Promise.race([this.#transport.endSession(), tooLong.over]).catch(() => undefined);
      tooLong.undo();
    });
  }

  /** For a process that ends: nothing can be waited for. */
  kill(): void {
    this.#transport.kill();
  }

  #onLost(reason: string): void {
    if (this.#closed === undefined) void this.#shutDown(reason, async () => this.#transport.kill());
  }

  #shutDown(reason: string, shutDown: () => Promise<void>): Promise<void> {
    return (this.#closed ??= (async () => {
      this.#undoProbe?.();
      this.#end.abort(new Error(reason));
      await shutDown();
      await this.client.close().catch(() => undefined);
      // A client whose handshake was not over has no transport yet.
      await this.#transport.transport.close().catch(() => undefined);
    })());
  }

  #count(): void {
    this.#received += 1;
    const second = Math.floor(this.#options.clock.now() / 1_000);
    if (second !== this.#currentSecond) [this.#currentSecond, this.#receivedInSecond] = [second, 0];
    this.#receivedInSecond += 1;
    if (this.#receivedInSecond > MAX_MESSAGES_PER_SECOND)
      this.#onLost(`it sent more than ${MAX_MESSAGES_PER_SECOND} messages in one second`);
  }
}

/** What carries messages to one server and back. */
export interface UpstreamTransport {
  readonly transport: McpTransport;
  readonly isProcess: boolean;
  /** Lets the server end the session in its own way. */
  endSession(): Promise<void>;
  /** At once, without asking. */
  kill(): void;
}

type TransportOptions = Pick<UpstreamLinkOptions, "clock" | "log" | "maxBytes">;

interface TransportEvents {
  /** A message came. */
  onMessage(): void;
  /** Nothing more can come, and why. Perhaps told more than once. */
  onLost(reason: string): void;
}

function upstreamTransport(
  library: McpLibrary,
  server: StdioServer | HttpServer,
  options: TransportOptions,
  events: TransportEvents,
): UpstreamTransport {
  return server.url === undefined ? processTransport(library, server, options, events) : httpTransport(library, server, options, events);
}

/** Of a message, beside what it carries. */
const FRAME_BYTES = 65_536;
/** What a process needs to find programs and its own files. */
const PASSED_VARIABLES = new Set(["PATH", "HOME", "PATHEXT", "SYSTEMROOT", "USERPROFILE"]);

function processTransport(
  library: McpLibrary,
  { command, args = [], env, cwd }: StdioServer,
  options: TransportOptions,
  events: TransportEvents,
): UpstreamTransport {
  const hidden = Object.fromEntries(library.inherited.filter((name) => !PASSED_VARIABLES.has(name)).map((name) => [name, undefined]));
  const transport = library.stdio({
    command,
    args: [...args],
    // The client adds what it thinks harmless: only a name without a value takes it away again.
    env: Object.assign({}, hidden, env),
    stderr: "pipe",
    maxBufferSize: options.maxBytes + FRAME_BYTES,
    ...omitUndefined({ cwd }),
  });
  let pid: number | null = null;
  let hasExited = false;
  const updatePid = (): void => void (pid = transport.pid ?? pid);
  const kill = (): void => {
    updatePid();
    // Once it is gone, its number may be another's.
    if (pid === null || hasExited) return;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      hasExited = true;
    }
  };
  Object.assign(transport, {
    onmessage: () => {
      updatePid();
      events.onMessage();
    },
    onerror: (error: unknown) => {
      updatePid();
      // A transport that gives up closes right after it said why, and lets the process go on for seconds.
      queueMicrotask(() => {
        if (transport.pid !== null) return;
        kill();
        events.onLost(reasonOf(error));
      });
    },
    onclose: () => {
      hasExited = true;
      events.onLost("its process has ended");
    },
  });
  if (transport.stderr instanceof Readable) {
    const lines = logLines(options.clock, options.log);
    transport.stderr.setEncoding("utf8").on("data", lines);
  }
  return { transport, isProcess: true, endSession: async () => updatePid(), kill };
}

function httpTransport(
  library: McpLibrary,
  { url, headers }: HttpServer,
  options: TransportOptions,
  events: TransportEvents,
): UpstreamTransport {
  const transport = library.http(new URL(url), {
    fetch: boundedFetch(options.maxBytes + FRAME_BYTES, (reason) => events.onLost(reason)),
    requestInit: { headers: { ...headers } },
    reconnectionScheduler: (reconnect, delayMs) => options.clock.after(delayMs, reconnect),
  });
  Object.assign(transport, { onmessage: () => events.onMessage() });
  return { transport, isProcess: false, endSession: () => transport.terminateSession(), kill: () => undefined };
}

/** Characters of one line that are passed on. */
const MAX_LINE_CHARS = 2_000;
/** Lines of one second that are passed on. */
const MAX_LINES_PER_SECOND = 200;

/** Takes text as it comes, and tells it line by line: of too much only that there was more. */
function logLines(clock: Clock, onLine: (line: string) => void): (text: string) => void {
  let rest = "";
  let second = -1;
  let passedOn = 0;
  const line = (text: string): void => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) [second, passedOn] = [now, 0];
    passedOn += 1;
    if (passedOn <= MAX_LINES_PER_SECOND) onLine(text.length <= MAX_LINE_CHARS ? text : `${text.slice(0, MAX_LINE_CHARS)}…`);
    else if (passedOn === MAX_LINES_PER_SECOND + 1) onLine("… (more than is passed on in one second)");
  };
  return (text) => {
    const lines = text.split(/\r?\n/);
    lines[0] = rest + (lines[0] ?? "");
    // What is beyond a line's length is dropped here already, or a line without an end would fill the memory.
    rest = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS + 1);
    for (const one of lines) if (one !== "") line(one);
  };
}

/** `over` comes after so many milliseconds, unless it is undone. */
export function pause(clock: Clock, ms: number): { readonly over: Promise<void>; readonly undo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { over: promise, undo: clock.after(ms, resolve) };
}
