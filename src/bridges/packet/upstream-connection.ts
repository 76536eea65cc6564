// Owns: one connection to an upstream MCP server, as a process or over HTTP: handshake, health checks, closing.
//   Does not own: reconnecting and calls (upstream-servers.ts).
import { Readable } from "node:stream";
import { type Clock, untilAborted } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { reasonOf } from "./error-mapping.ts";
import { type McpClient, type McpLibrary, type McpTransport, type SessionExpired, boundedFetch } from "./mcp-client.ts";
import type { HttpServer, UpstreamLinkOptions, StdioServer } from "./upstream-interface.ts";

/** More messages per second than this end the connection. */
const MAX_MESSAGES_PER_SECOND = 2_000;
/** How long a process may stay silent before it is taken for a legacy server. */
const PROBE_MS = 5_000;
/** How long a server may take to end a session. */
const CLOSE_GRACE_MS = 2_000;
/** The client's own timeouts ignore the injected clock, so they are set to never fire. */
export const NO_TIMEOUT_MS = 2_147_483_647;

/** One connection to one server, from its handshake to its end. */
export class UpstreamConnection {
  readonly client: McpClient;
  /** Aborted when the connection ends, with the reason. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #options: UpstreamLinkOptions;
  readonly #transport: UpstreamTransport;
  readonly #rate: SecondCounter;
  #received = 0;
  #closed: Promise<void> | undefined;
  #undoProbe: (() => void) | undefined;

  constructor(library: McpLibrary, server: StdioServer | HttpServer, options: UpstreamLinkOptions) {
    this.#options = options;
    this.#rate = new SecondCounter(options.clock);
    this.signal = this.#end.signal;
    const events: TransportEvents = { onMessage: () => this.#count(), onLost: (reason) => this.#onLost(reason) };
    this.#transport =
      server.url === undefined ? processTransport(library, server, options, events) : httpTransport(library, server, options, events);
    this.client = library.client(this.#transport.isProcess ? Math.min(PROBE_MS, options.timeoutMs) : NO_TIMEOUT_MS);
  }

  get isLegacy(): boolean {
    return this.client.getProtocolEra() === "legacy";
  }

  /** The handshake. `isLegacy`: known from an earlier connection. */
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

  /** After a call timed out: checks whether the process still responds, and ends the connection if not. */
  probe(): void {
    if (!this.#transport.isProcess || this.#undoProbe !== undefined || this.signal.aborted) return;
    const received = this.#received;
    const probe = new AbortController();
    const ask = { timeout: NO_TIMEOUT_MS, signal: probe.signal };
    // Any message shows that the process is alive.
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

  /** The server no longer knows the session. */
  sessionExpired({ message }: SessionExpired): void {
    this.#onLost(message);
  }

  /** Closes the connection gracefully. Never rejects. */
  async close(): Promise<void> {
    await this.#shutDown("it is closed", async () => {
      const tooLong = pause(this.#options.clock, CLOSE_GRACE_MS);
      await Promise.race([this.#transport.endSession(), tooLong.over]).catch(() => undefined);
      tooLong.undo();
    });
  }

  /** For the exit of this process, where nothing can be awaited. */
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
      // A client whose handshake was not finished does not close its transport.
      await this.#transport.transport.close().catch(() => undefined);
    })());
  }

  #count(): void {
    this.#received += 1;
    if (this.#rate.next() > MAX_MESSAGES_PER_SECOND) this.#onLost(`it sent more than ${MAX_MESSAGES_PER_SECOND} messages in one second`);
  }
}

/** Carries messages to one server and back. */
interface UpstreamTransport {
  readonly transport: McpTransport;
  readonly isProcess: boolean;
  /** Lets the server end the session. */
  endSession(): Promise<void>;
  /** Ends it immediately. */
  kill(): void;
}

type TransportOptions = Pick<UpstreamLinkOptions, "clock" | "log" | "maxBytes">;

interface TransportEvents {
  /** A message arrived. */
  onMessage(): void;
  /** Nothing more can arrive. May be called more than once. */
  onLost(reason: string): void;
}

/** Size of a message in addition to its content. */
const FRAME_BYTES = 65_536;
/** The environment variables that a process needs to find programs and its own files. */
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
    // The client adds variables that it considers harmless. Only a name without a value removes one.
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
    // After the exit another process may have this pid.
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
      // A transport that fails closes right after it reports the error, but lets the process run for seconds.
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
/** Lines per second that are passed on. */
const MAX_LINES_PER_SECOND = 200;

/** Splits text into lines. Of too many lines, only the fact is passed on. */
function logLines(clock: Clock, onLine: (line: string) => void): (text: string) => void {
  let rest = "";
  const rate = new SecondCounter(clock);
  const line = (text: string): void => {
    const count = rate.next();
    if (count <= MAX_LINES_PER_SECOND) onLine(text.length <= MAX_LINE_CHARS ? text : `${text.slice(0, MAX_LINE_CHARS)}…`);
    else if (count === MAX_LINES_PER_SECOND + 1) onLine("… (more than is passed on in one second)");
  };
  return (text) => {
    const lines = text.split(/\r?\n/);
    lines[0] = rest + (lines[0] ?? "");
    // Cut here already, or a line without an end would fill the memory.
    rest = (lines.pop() ?? "").slice(0, MAX_LINE_CHARS + 1);
    for (const one of lines) if (one !== "") line(one);
  };
}

/** Counts what happens within a second. */
class SecondCounter {
  readonly #clock: Clock;
  #second = -1;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of this one within the current second, from 1. */
  next(): number {
    const second = Math.floor(this.#clock.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#count] = [second, 0];
    this.#count += 1;
    return this.#count;
  }
}

/** `over` resolves after `ms` milliseconds, unless it is undone. */
export function pause(clock: Clock, ms: number): { readonly over: Promise<void>; readonly undo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { over: promise, undo: clock.after(ms, resolve) };
}
