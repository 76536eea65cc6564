import { Readable } from "node:stream";
import { omitUndefined } from "../../core/contract/internal.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import type { HttpServer, LinkOptions, StdioServer } from "./foreign-options.ts";
import { logLines } from "./log-lines.ts";
import type { McpLibrary, McpTransport } from "./mcp-client.ts";
import { reasonOf } from "./reason-of.ts";

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

export interface WireEvents {
  /** A message came. */
  heard(): void;
  /** Nothing more can come, and why. Perhaps told more than once. */
  lost(reason: string): void;
}

export function wireTo(library: McpLibrary, server: StdioServer | HttpServer, options: WireOptions, events: WireEvents): Wire {
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
