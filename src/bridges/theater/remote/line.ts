import type { Socket } from "node:net";
import {
  printCommand,
  readResponse,
  WireError,
  WireReader,
  WireWriter,
  type Answer,
  type Codec,
  type Command,
  type Push,
  type Response,
} from "../wire/index.ts";
import { isAnswerTo, isPush, type AnswerTo } from "./answers.ts";
import { ConnectionError, type ConnectionEnd } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { serverError } from "./refusals.ts";
import { connectSocket } from "./socket.ts";

export interface ConnectionEvents {
  push(push: Push): void;
  /** Called once. */
  ended(): void;
}

export interface SendOptions {
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

interface PendingCommand {
  readonly command: Command;
  readonly settle: (reply: Answer | ConnectionError) => void;
}

/** One connection. Its commands run one at a time: replies do not name their command, and come in order, mixed with pushes. */
export class Connection {
  readonly codec: Codec;
  readonly #settings: Settings;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader: WireReader;
  readonly #writer: WireWriter;
  #pending: PendingCommand | undefined;
  #previous: Promise<unknown> = Promise.resolve();
  #queued = 0;
  #isClosed = false;
  #lastResponseAt: number | undefined;

  private constructor(settings: Settings, socket: Socket, codec: Codec, events: ConnectionEvents) {
    this.codec = codec;
    this.#settings = settings;
    this.#socket = socket;
    this.#events = events;
    this.#reader = new WireReader(settings.wire, settings.clock, codec);
    this.#writer = new WireWriter(settings.wire);
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", () => this.#end("ended", "The connection broke."));
    socket.on("close", () => this.#end("ended", "The connection was closed."));
    // Upstream closes its half instead of answering, so nothing more will come.
    socket.on("end", () => this.#end("ended", "The connection was closed."));
  }

  static async open(settings: Settings, codec: Codec, events: ConnectionEvents): Promise<Connection> {
    return new Connection(settings, await connectSocket(settings), codec, events);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When it last received a response. */
  get lastResponseAt(): number | undefined {
    return this.#lastResponseAt;
  }

  close(): void {
    this.#end("ended", "The connection was closed here.");
  }

  /** Closes once the pending commands are answered. */
  closeWhenIdle(): void {
    void this.#previous.then(() => this.close());
  }

  /** Throws `ConnectionError`, `WireError` if the command is too long to be sent, and `StageError` if the server refused. */
  async send<C extends Command>(command: C, options: SendOptions): Promise<AnswerTo<C["is"]>> {
    if (this.#queued >= this.#settings.limits.waiting) throw new ConnectionError("left", "Too much waits for this connection.", false);
    this.#queued += 1;
    const answer = this.#previous.then(() => this.#write(command, options));
    this.#previous = answer.catch(() => undefined);
    try {
      const reply = await answer;
      if (reply.is === "Error") throw serverError(reply, this.#settings);
      if (!isAnswerTo(reply, command)) throw new ConnectionError("garbled", "The reply was not to what was asked.", true);
      return reply;
    } finally {
      this.#queued -= 1;
    }
  }

  #write(command: Command, { limitMs, signal }: SendOptions): Promise<Answer> {
    if (this.#isClosed) throw new ConnectionError("ended", "The connection was closed.", false);
    if (signal?.aborted === true) throw new ConnectionError("left", "The caller left.", false);
    const frames = this.#writer.frames(printCommand(command), this.codec);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const cancel = (): void => this.#end("left", "The caller left.");
    const cancelTimer = this.#settings.clock.after(limitMs, () => this.#end("silent", `No reply came within ${limitMs} ms.`));
    signal?.addEventListener("abort", cancel, { once: true });
    this.#pending = {
      command,
      settle: (reply) => {
        this.#pending = undefined;
        cancelTimer();
        signal?.removeEventListener("abort", cancel);
        if (reply instanceof ConnectionError) reject(reply);
        else resolve(reply);
      },
    };
    for (const frame of frames) this.#socket.write(frame);
    return promise;
  }

  #receive(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    try {
      this.#reader.push(chunk, (message) => {
        if (this.#isClosed) return;
        if (message instanceof WireError) throw message;
        this.#onResponse(readResponse(message));
      });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#end("garbled", error.message);
    }
  }

  #onResponse(response: Response): void {
    this.#lastResponseAt = this.#settings.clock.now();
    const pending = this.#pending;
    if (isPush(response, pending?.command)) return this.#events.push(response);
    const fits = pending !== undefined && (response.is === "Error" || isAnswerTo(response, pending.command));
    if (fits) pending.settle(response);
    else this.#end("garbled", `${response.is} came in answer to ${pending?.command.is ?? "nothing"}.`);
  }

  #end(why: ConnectionEnd, message: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reader.close();
    this.#socket.destroy();
    this.#pending?.settle(new ConnectionError(why, message, true));
    this.#events.ended();
  }
}
