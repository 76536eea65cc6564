// Owns: one client connection: its queue of commands, what is written to it, and its limits. Does not own: what commands do
// (execute-command.ts), the codec (wire/codec.ts).
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Log } from "../../../core/contract/index.ts";
import { endRefused } from "../../../mcp/transport/listen.ts";
import { StageError } from "../stage.ts";
import { type Codec, WireReader, WireWriter } from "../wire/codec.ts";
import { type Command, readCommand } from "../wire/commands.ts";
import { type Answer, type Fault, printResponse, type Push, type Response } from "../wire/responses.ts";
import { WireError, type WireValue } from "../wire/wire-json.ts";
import type { Client } from "./client.ts";
import { type CommandResult, executeCommand, type ServerContext } from "./execute-command.ts";
import type { TheaterLimits } from "./options.ts";

/** Writes to one client and bounds what it has not read. */
class SocketWriter {
  readonly #socket: Socket;
  readonly #limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">;
  readonly #clock: Clock;
  readonly #onDrop: (reason: string) => void;
  #waiting: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(socket: Socket, limits: Pick<TheaterLimits, "queuedBytes" | "blockedMs">, clock: Clock, onDrop: (reason: string) => void) {
    this.#socket = socket;
    this.#limits = limits;
    this.#clock = clock;
    this.#onDrop = onDrop;
  }

  /** Always written: the next command waits until the answer has been read. */
  answer(frames: readonly Uint8Array[]): void {
    for (const frame of frames) this.#write(frame);
  }

  /** Disconnects a client that lets too many bytes wait. */
  push(frames: readonly Uint8Array[]): void {
    if (this.#socket.writableLength > this.#limits.queuedBytes) return this.#drop("queue-full");
    for (const frame of frames) this.#write(frame);
  }

  /** Settles when the client has read everything or has disconnected. */
  drained(): Promise<void> {
    if (this.#socket.writableLength === 0 || this.#socket.destroyed) return Promise.resolve();
    return new Promise((done) => this.#waiting.push(done));
  }

  /** The client has disconnected. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#release();
  }

  #write(frame: Uint8Array): void {
    if (!this.#socket.writable) return;
    this.#socket.write(frame, this.#flushed);
    if (this.#socket.writableLength > 0) this.#cancelTimer ??= this.#watchProgress();
  }

  /** A client that makes any progress is merely slow. */
  #watchProgress(): () => void {
    const before = this.#socket.bytesWritten - this.#socket.writableLength;
    return this.#clock.after(this.#limits.blockedMs, () => {
      this.#cancelTimer = undefined;
      if (this.#socket.bytesWritten - this.#socket.writableLength > before) this.#cancelTimer = this.#watchProgress();
      else this.#drop("blocked");
    });
  }

  readonly #flushed = (): void => {
    if (this.#socket.writableLength > 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#release();
  };

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done();
  }

  #drop(reason: string): void {
    this.#onDrop(reason);
    this.#socket.destroy();
  }
}

/** Encodes responses to one client in the codec that the client uses. */
class ResponseEncoder {
  readonly #reader: WireReader;
  readonly #limits: TheaterLimits;
  readonly #writer: WireWriter;

  constructor(reader: WireReader, limits: TheaterLimits) {
    this.#reader = reader;
    this.#limits = limits;
    this.#writer = new WireWriter(limits);
  }

  /** Undefined if the response is too long to send. */
  frames(response: Response): readonly Uint8Array[] | undefined {
    try {
      return this.#writer.frames(printResponse(response, this.#codec), this.#codec);
    } catch (error) {
      if (error instanceof WireError) return undefined;
      throw error;
    }
  }

  /** The answer, or an error if it is too long to send. */
  answer(answer: Answer): readonly Uint8Array[] {
    const maxBytes = this.#codec === "raw" ? this.#limits.frameBytes : this.#limits.messageBytes;
    const message = `The answer is longer than the ${maxBytes} bytes that are sent at once: ask for less, or over MCP, by pages.`;
    return this.frames(answer) ?? this.frames({ type: "Error", fault: { code: "SerializationError", message } }) ?? [];
  }

  get #codec(): Codec {
    return this.#reader.codec ?? "raw";
  }
}

/** The command in a message, or its error. */
function parseCommand(message: WireValue | WireError): Command | WireError {
  if (message instanceof WireError) return message;
  try {
    return readCommand(message);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

/** The error that a client receives. Anything but a `StageError` or `WireError` is a fault of the server and is logged. */
function toFault(error: unknown, log: Log | undefined): Fault {
  if (error instanceof StageError) return { code: error.code, message: error.message };
  if (error instanceof WireError) return { code: "InvalidRequest", message: error.message };
  const { name, message } = error instanceof Error ? error : { name: "unknown", message: String(error) };
  log?.("error", { event: "command-failed", transport: "theater", name, message });
  return { code: "InternalError", message: "The server failed at this command: its log says of what." };
}

const MAX_BUFFERED_BYTES = 8 * 1_048_576;

/**
 * One client connection. Commands run one at a time and are answered in order, since answers do not name their command. Pushes may be
 * sent between any two answers.
 */
export class Connection implements Client {
  readonly #socket: Socket;
  readonly #context: ServerContext;
  readonly #reader: WireReader;
  readonly #encoder: ResponseEncoder;
  readonly #writer: SocketWriter;
  readonly #disconnected = new AbortController();
  readonly #queue: (Command | WireError)[] = [];
  /** Bytes received while a command was running. */
  #bufferedBytes = 0;
  #running = false;
  #ending = false;
  /** The last frame was invalid. */
  #hasInvalidFrame = false;
  #undoFrame: (() => void) | undefined;
  #undoEnd: (() => void) | undefined;

  constructor(socket: Socket, context: ServerContext) {
    const { limits, clock, log } = context;
    this.#socket = socket;
    this.#context = context;
    this.#reader = new WireReader(limits, clock);
    this.#encoder = new ResponseEncoder(this.#reader, limits);
    this.#writer = new SocketWriter(socket, limits, clock, (reason) =>
      log?.("warning", { event: "client-dropped", transport: "theater", reason }),
    );
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => {});
    socket.once("end", () => this.end());
    socket.once("close", () => this.#onClosed());
  }

  get disconnected(): AbortSignal {
    return this.#disconnected.signal;
  }

  push(push: Push): void {
    if (this.#disconnected.signal.aborted) return;
    const frames = this.#encoder.frames(push);
    if (frames === undefined) this.#context.log?.("warning", { event: "push-too-long", transport: "theater", is: push.type });
    else this.#writer.push(frames);
  }

  drop(reason: string): void {
    this.#context.log?.("warning", { event: "client-dropped", transport: "theater", reason });
    this.#socket.destroy();
  }

  /** Accepts no more commands. Those already received are answered, then the connection ends. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#undoFrame?.();
    this.#closeAll();
    // Discard unread bytes: they would reset the connection and lose the last answer.
    this.#socket.resume();
    if (!this.#running && this.#queue.length === 0) this.#finish();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Uint8Array): void {
    if (this.#ending) return;
    let hasCompleteFrame = false;
    try {
      this.#reader.push(chunk, (message) => {
        hasCompleteFrame = true;
        this.#queue.push(parseCommand(message));
      });
    } catch (error) {
      // The start of the next command cannot be found.
      this.#queue.push(error instanceof WireError ? error : new WireError("This cannot be read."));
      this.#hasInvalidFrame = true;
      this.end();
    }
    if (this.#running) this.#bufferedBytes += chunk.length;
    if (this.#isFull && !this.#ending) this.#socket.pause();
    this.#limitFrameTime(hasCompleteFrame);
    if (!this.#running) void this.#executeQueue();
  }

  /** Enough commands are queued; the rest waits at the client. */
  get #isFull(): boolean {
    return this.#queue.length >= this.#context.limits.waiting || this.#bufferedBytes >= MAX_BUFFERED_BYTES;
  }

  /** One timer per frame rather than per chunk, and none while the socket is paused. */
  #limitFrameTime(hasCompleteFrame: boolean): void {
    const { clock, limits } = this.#context;
    const paused = this.#socket.isPaused();
    if (hasCompleteFrame || paused || !this.#reader.pending) {
      this.#undoFrame?.();
      this.#undoFrame = undefined;
    }
    if (this.#reader.pending && !paused && !this.#ending) this.#undoFrame ??= clock.after(limits.frameMs, () => this.drop("frame-slow"));
  }

  async #executeQueue(): Promise<void> {
    this.#running = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const { answer, announced } = await this.#execute(next);
      if (this.#disconnected.signal.aborted) break;
      this.#writer.answer(this.#encoder.answer(answer));
      announced?.();
      await this.#writer.drained();
      if (this.#queue.length === 0) this.#bufferedBytes = 0;
      if (!this.#isFull) this.#resume();
      // One read may bring thousands of commands. Yield, so that other connections are served and a disconnect is noticed.
      if (this.#queue.length > 0) await nextTurn();
    }
    this.#running = false;
    if (this.#ending) this.#finish();
  }

  #resume(): void {
    if (!this.#socket.isPaused()) return;
    this.#socket.resume();
    this.#limitFrameTime(false);
  }

  async #execute(next: Command | WireError): Promise<CommandResult> {
    try {
      if (next instanceof WireError) throw next;
      return await executeCommand(next, this, this.#context);
    } catch (error) {
      return { answer: { type: "Error", fault: toFault(error, this.#context.log) } };
    }
  }

  #finish(): void {
    this.#disconnected.abort();
    this.#closeAll();
    if (this.#hasInvalidFrame) return endRefused(this.#socket, this.#context.clock);
    this.#socket.end();
    // A client that leaves its side open would hold the socket.
    this.#undoEnd ??= this.#context.clock.after(this.#context.limits.blockedMs, () => this.#socket.destroy());
  }

  /** Ends subscriptions and channels even while a command runs: a client that half-closed looks the same as one that hung up. */
  #closeAll(): void {
    this.#context.subscriptions.endAllOf(this);
    void this.#context.channels.closeAllOf(this);
  }

  #onClosed(): void {
    this.#ending = true;
    this.#undoFrame?.();
    this.#undoEnd?.();
    this.#queue.length = 0;
    this.#disconnected.abort();
    this.#reader.close();
    this.#closeAll();
    this.#writer.close();
  }
}
