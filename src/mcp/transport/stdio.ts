// Owns: one client on standard input and output, from start to a clean end. Does not own: lines (lines.ts).
import type { Readable, Writable } from "node:stream";
import {
  ABOVE_ZERO,
  checkOptions,
  type Clock,
  FUNCTION,
  type Gateway,
  type Log,
  type OptionTable,
  TEXTS,
  systemClock,
} from "../../core/contract/index.ts";
import { rateLimitedLog, withTimeout } from "../../core/contract/internal.ts";
import { refusalText } from "../gateway/index.ts";
import { LineChannel, readLines } from "./lines.ts";
import { SinkWriteQueue } from "./write-queue.ts";

interface StandardOutput {
  readonly write: (data: string | Uint8Array, flushed?: () => void) => void;
  /** Ends the redirection. */
  readonly release: () => void;
}

/**
 * Reserves the standard output for one writer. Other output (a `console.log` in a served module, a dependency's banner) is redirected
 * to the standard error, since one unexpected line would break the protocol.
 */
function guardStandardOutput(): StandardOutput {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return {
    write: (data, flushed) => void write(data, flushed),
    release: () => {
      stdout.write = write;
    },
  };
}

// Requests that are abandoned at the end of the grace period are still answered.
const LAST_REPLIES_MS = 1_000;

/** What `serveStdio` takes. */
export interface StdioOptions {
  readonly gateway: Gateway;
  /** Default: the standard input. */
  readonly input?: Readable;
  /** Default: the standard output, which then carries nothing else. */
  readonly output?: Writable;
  /** The principal. Default `local`. */
  readonly as?: string;
  /** Its scopes. Default none. */
  readonly scopes?: readonly string[];
  /** The longest line accepted, in bytes. Default 4 MiB. */
  readonly lineBytes?: number;
  /** Limit for output that the client has not read, in bytes; more ends the connection. Default 64 MiB. */
  readonly queuedBytes?: number;
  /**
   * After the end of input, how long running requests may take, and then the client to read their answers, in milliseconds. Unfinished
   * requests are answered with an error: unknown whether they were applied. Default 5 s.
   */
  readonly graceMs?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** A running server on standard input and output. */
export interface StdioListener extends AsyncDisposable {
  /** Settles at the end of input, before the grace period. Never rejects. */
  readonly ended: Promise<void>;
  /** Settles when the client has disconnected and its requests have ended. Never rejects. */
  readonly closed: Promise<void>;
  /** `graceMs`: instead of the option of that name. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const OPTIONS: OptionTable<StdioOptions> = {
  gateway: true,
  input: true,
  output: true,
  as: true,
  scopes: TEXTS,
  lineBytes: ABOVE_ZERO,
  queuedBytes: ABOVE_ZERO,
  graceMs: true,
  clock: true,
  log: FUNCTION,
};

/** MCP over newline-delimited JSON on two streams, one client. Ends promptly at the end of input. Throws `BAD_OPTION`. */
export function serveStdio(options: StdioOptions): StdioListener {
  checkOptions("serveStdio", options, OPTIONS);
  const {
    gateway,
    as = "local",
    scopes = [],
    lineBytes = 4_194_304,
    queuedBytes = 67_108_864,
    graceMs = 5_000,
    clock = systemClock,
  } = options;
  const log = rateLimitedLog(options.log, clock);
  const input = options.input ?? process.stdin;
  const guard = options.output === undefined ? guardStandardOutput() : undefined;
  const output = options.output ?? process.stdout;
  const write = guard?.write ?? ((data: string | Uint8Array, flushed?: () => void) => void output.write(data, flushed));

  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { promise: ended, resolve: atEnd } = Promise.withResolvers<void>();
  let ending = false;

  const channel = new LineChannel({
    queue: new SinkWriteQueue(
      {
        write: (data) => {
          if (!output.destroyed && !output.writableEnded) write(data);
        },
        queued: () => output.writableLength,
        afterwards: (run) => {
          if (!output.destroyed && !output.writableEnded) write("", run);
        },
        destroy: () => end(),
      },
      { limits: { queuedBytes }, clock, onDrop: (reason) => log?.("warning", { event: "client-dropped", transport: "stdio", reason }) },
    ),
    end: () => end(),
  });
  const connection = gateway.connect(channel, { principal: as, scopes, peer: "stdio" });

  const stopReading = readLines({
    input,
    channel,
    clock,
    lineBytes: () => lineBytes,
    onLine: (line) => connection.receive(line),
    onTooLong: () => {
      log?.("warning", { event: "line-too-long", transport: "stdio", lineBytes });
      channel.send(refusalText("TOO_LARGE", `A message may have at most ${lineBytes} bytes: send less at once.`));
    },
    onEnd: () => end(),
  });

  // EPIPE: the parent process does not read any more.
  const broken = (): void => {
    channel.lose();
    end();
  };
  output.on("error", broken);
  output.on("close", broken);

  function end(ms = graceMs): void {
    if (ending) return;
    ending = true;
    atEnd();
    stopReading();
    input.pause();
    void finish(ms).then(resolve);
  }

  async function finish(ms: number): Promise<void> {
    // The clock's timers do not keep the process alive; this one does, until the last answers are written.
    const stay = setInterval(() => {}, 60_000);
    const ran = connection.close(ms).catch(() => log?.("error", { event: "close-failed", transport: "stdio" }));
    await withTimeout(clock, ms + LAST_REPLIES_MS, ran, () => undefined);
    // The last answers are written at the end of this tick.
    await new Promise<void>((done) => {
      process.nextTick(done);
    });
    await handOver(output, write, clock, graceMs);
    channel.lose();
    guard?.release();
    output.off("close", broken);
    clearInterval(stay);
  }

  const close = (given: { readonly graceMs?: number } = {}): Promise<void> => {
    end(given.graceMs);
    return closed;
  };
  return { ended, closed, close, [Symbol.asyncDispose]: () => close() };
}

/** Settles when the stream has written all it has, or cannot. */
function handOver(output: Writable, write: StandardOutput["write"], clock: Clock, graceMs: number): Promise<void> {
  if (output.destroyed || output.writableLength === 0) return Promise.resolve();
  return new Promise((done) => {
    const undo = clock.after(graceMs, done);
    write("", () => {
      undo();
      done();
    });
  });
}
