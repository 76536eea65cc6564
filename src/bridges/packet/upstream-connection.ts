import { Readable } from "node:stream";
import { type Clock, untilAborted } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { reasonOf } from "./error-mapping.ts";
import { type McpClient, type McpLibrary, type McpTransport, type SessionForgotten, boundedFetch } from "./mcp-client.ts";
import type { HttpServer, LinkOptions, StdioServer } from "./upstream-server.ts";

/** Messages within a second, beyond which they are a flood. */
const FLOOD = 2_000;
/** How long a process may be silent before it is taken for one of the old era. */
const PROBE_MS = 5_000;
/** How long a server has to let a session end. */
const GOODBYE_MS = 2_000;
/** The client's own time-outs do not go by the injected clock: none of them is to ring. */
export const NEVER_MS = 2_147_483_647;

/** One connection to one server, from its handshake to its end. */
export class ForeignConnection {
  readonly client: McpClient;
  /** Aborted at its end, with why. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #options: LinkOptions;
  readonly #wire: Wire;
  #heard = 0;
  #second = -1;
  #heardInSecond = 0;
  #closed: Promise<void> | undefined;
  #undoProbe: (() => void) | undefined;

  constructor(library: McpLibrary, server: StdioServer | HttpServer, options: LinkOptions) {
    this.#options = options;
    this.signal = this.#end.signal;
    this.#wire = wireTo(library, server, options, { heard: () => this.#count(), lost: (reason) => this.#lost(reason) });
    this.client = library.client(this.#wire.isProcess ? Math.min(PROBE_MS, options.timeoutMs) : NEVER_MS);
  }

  get isLegacy(): boolean {
    return this.client.getProtocolEra() === "legacy";
  }

  /** The handshake. `isLegacy`: known from an earlier one. */
  async open(isLegacy: boolean): Promise<void> {
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => this.#lost("it did not answer in time"));
    try {
      await untilAborted(this.signal, () =>
        this.client.connect(this.#wire.transport, { timeout: NEVER_MS, ...(isLegacy && { prior: { kind: "legacy" } }) }),
      );
    } catch (error) {
      this.#lost(reasonOf(error));
      throw error;
    } finally {
      undo();
    }
  }

  /** A call had no answer in time: a process that says nothing at all any more is ended. */
  doubt(): void {
    if (!this.#wire.isProcess || this.#undoProbe !== undefined || this.signal.aborted) return;
    const heard = this.#heard;
    const probe = new AbortController();
    const ask = { timeout: NEVER_MS, signal: probe.signal };
    // Whatever comes back shows that it lives.
    void (this.isLegacy ? this.client.ping(ask) : this.client.discover(ask)).catch(() => undefined);
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => {
      this.#undoProbe?.();
      if (this.#heard === heard) this.#lost("it does not answer any more");
    });
    this.#undoProbe = () => {
      this.#undoProbe = undefined;
      undo();
      probe.abort();
    };
  }

  /** The server does not know it any more. */
  forgotten({ message }: SessionForgotten): void {
    this.#lost(message);
  }

  /** Ends it in good order. Never rejects. */
  async close(): Promise<void> {
    await this.#ended("it is closed", async () => {
      const tooLong = pause(this.#options.clock, GOODBYE_MS);
      await Promise.race([this.#wire.goodbye(), tooLong.over]).catch(() => undefined);
      tooLong.undo();
    });
  }

  /** For a process that ends: nothing can be waited for. */
  kill(): void {
    this.#wire.kill();
  }

  #lost(reason: string): void {
    if (this.#closed === undefined) void this.#ended(reason, async () => this.#wire.kill());
  }

  #ended(reason: string, farewell: () => Promise<void>): Promise<void> {
    return (this.#closed ??= (async () => {
      this.#undoProbe?.();
      this.#end.abort(new Error(reason));
      await farewell();
      await this.client.close().catch(() => undefined);
      // A client whose handshake was not over has no transport yet.
      await this.#wire.transport.close().catch(() => undefined);
    })());
  }

  #count(): void {
    this.#heard += 1;
    const second = Math.floor(this.#options.clock.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#heardInSecond] = [second, 0];
    this.#heardInSecond += 1;
    if (this.#heardInSecond > FLOOD) this.#lost(`it sent more than ${FLOOD} messages in one second`);
  }
}

/** What carries messages to one server and back. */
export interface Wire {
  readonly transport: McpTransport;
  readonly isProcess: boolean;
  /** Lets the server end the session in its own way. */
  goodbye(): Promise<void>;
  /** At once, without asking. */
  kill(): void;
}

type WireOptions = Pick<LinkOptions, "clock" | "log" | "maxBytes">;

interface WireEvents {
  /** A message came. */
  heard(): void;
  /** Nothing more can come, and why. Perhaps told more than once. */
  lost(reason: string): void;
}

function wireTo(library: McpLibrary, server: StdioServer | HttpServer, options: WireOptions, events: WireEvents): Wire {
  return server.url === undefined ? toProcess(library, server, options, events) : toHttp(library, server, options, events);
}

/** Of a message, beside what it carries. */
const FRAME_BYTES = 65_536;
/** What a process needs to find programs and its own files. */
const GIVEN = new Set(["PATH", "HOME", "PATHEXT", "SYSTEMROOT", "USERPROFILE"]);

function toProcess(library: McpLibrary, { command, args = [], env, cwd }: StdioServer, options: WireOptions, events: WireEvents): Wire {
  const hidden = Object.fromEntries(library.inherited.filter((name) => !GIVEN.has(name)).map((name) => [name, undefined]));
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
  let isGone = false;
  const seen = (): void => void (pid = transport.pid ?? pid);
  const kill = (): void => {
    seen();
    // Once it is gone, its number may be another's.
    if (pid === null || isGone) return;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      isGone = true;
    }
  };
  Object.assign(transport, {
    onmessage: () => {
      seen();
      events.heard();
    },
    onerror: (error: unknown) => {
      seen();
      // A transport that gives up closes right after it said why, and lets the process go on for seconds.
      queueMicrotask(() => {
        if (transport.pid !== null) return;
        kill();
        events.lost(reasonOf(error));
      });
    },
    onclose: () => {
      isGone = true;
      events.lost("its process has ended");
    },
  });
  if (transport.stderr instanceof Readable) {
    const lines = logLines(options.clock, options.log);
    transport.stderr.setEncoding("utf8").on("data", lines);
  }
  return { transport, isProcess: true, goodbye: async () => seen(), kill };
}

function toHttp(library: McpLibrary, { url, headers }: HttpServer, options: WireOptions, events: WireEvents): Wire {
  const transport = library.http(new URL(url), {
    fetch: boundedFetch(options.maxBytes + FRAME_BYTES, (reason) => events.lost(reason)),
    requestInit: { headers: { ...headers } },
    reconnectionScheduler: (reconnect, delayMs) => options.clock.after(delayMs, reconnect),
  });
  Object.assign(transport, { onmessage: () => events.heard() });
  return { transport, isProcess: false, goodbye: () => transport.terminateSession(), kill: () => undefined };
}

/** Characters of one line that are passed on. */
const LINE = 2_000;
/** Lines of one second that are passed on. */
const LINES = 200;

/** Takes text as it comes, and tells it line by line: of too much only that there was more. */
function logLines(clock: Clock, tell: (line: string) => void): (text: string) => void {
  let rest = "";
  let second = -1;
  let told = 0;
  const line = (text: string): void => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) [second, told] = [now, 0];
    told += 1;
    if (told <= LINES) tell(text.length <= LINE ? text : `${text.slice(0, LINE)}…`);
    else if (told === LINES + 1) tell("… (more than is passed on in one second)");
  };
  return (text) => {
    const lines = text.split(/\r?\n/);
    lines[0] = rest + (lines[0] ?? "");
    // What is beyond a line's length is dropped here already, or a line without an end would fill the memory.
    rest = (lines.pop() ?? "").slice(0, LINE + 1);
    for (const one of lines) if (one !== "") line(one);
  };
}

/** `over` comes after so many milliseconds, unless it is undone. */
export function pause(clock: Clock, ms: number): { readonly over: Promise<void>; readonly undo: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { over: promise, undo: clock.after(ms, resolve) };
}
