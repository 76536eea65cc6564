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
import { answers, isPush, type AnswerTo } from "./answers.ts";
import { LineError, type LineEnd } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { refused } from "./refusals.ts";
import { connected } from "./socket.ts";

export interface LineEvents {
  push(push: Push): void;
  /** Called once. */
  ended(): void;
}

export interface AskOptions {
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

interface Asked {
  readonly command: Command;
  readonly settle: (reply: Answer | LineError) => void;
}

/** One connection. Its commands run one at a time: replies do not name their command, and come in order, mixed with pushes. */
export class Line {
  readonly codec: Codec;
  readonly #settings: Settings;
  readonly #socket: Socket;
  readonly #events: LineEvents;
  readonly #reader: WireReader;
  readonly #writer: WireWriter;
  #asked: Asked | undefined;
  #before: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #over = false;
  #heardAt: number | undefined;

  private constructor(settings: Settings, socket: Socket, codec: Codec, events: LineEvents) {
    this.codec = codec;
    this.#settings = settings;
    this.#socket = socket;
    this.#events = events;
    this.#reader = new WireReader(settings.wire, settings.clock, codec);
    this.#writer = new WireWriter(settings.wire);
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", () => this.#end("ended", "The connection broke."));
    socket.on("close", () => this.#end("ended", "The connection was closed."));
    // Upstream closes its half instead of answering, so nothing more will come.
    socket.on("end", () => this.#end("ended", "The connection was closed."));
  }

  static async open(settings: Settings, codec: Codec, events: LineEvents): Promise<Line> {
    return new Line(settings, await connected(settings), codec, events);
  }

  get over(): boolean {
    return this.#over;
  }

  /** When it last received a response. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  close(): void {
    this.#end("ended", "The connection was closed here.");
  }

  /** Closes once the pending commands are answered. */
  closeAfterwards(): void {
    void this.#before.then(() => this.close());
  }

  /** Throws `ConnectionError`, `WireError` if the command is too long to be sent, and `StageError` if the server refused. */
  async ask<C extends Command>(command: C, options: AskOptions): Promise<AnswerTo<C["is"]>> {
    if (this.#waiting >= this.#settings.limits.waiting) throw new LineError("left", "Too much waits for this connection.", false);
    this.#waiting += 1;
    const answer = this.#before.then(() => this.#ask(command, options));
    this.#before = answer.catch(() => undefined);
    try {
      const reply = await answer;
      if (reply.is === "Error") throw refused(reply, this.#settings);
      if (!answers(reply, command)) throw new LineError("garbled", "The reply was not to what was asked.", true);
      return reply;
    } finally {
      this.#waiting -= 1;
    }
  }

  #ask(command: Command, { limitMs, signal }: AskOptions): Promise<Answer> {
    if (this.#over) throw new LineError("ended", "The connection was closed.", false);
    if (signal?.aborted === true) throw new LineError("left", "The caller left.", false);
    const frames = this.#writer.frames(printCommand(command), this.codec);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const leave = (): void => this.#end("left", "The caller left.");
    const undo = this.#settings.clock.after(limitMs, () => this.#end("silent", `No reply came within ${limitMs} ms.`));
    signal?.addEventListener("abort", leave, { once: true });
    this.#asked = {
      command,
      settle: (reply) => {
        this.#asked = undefined;
        undo();
        signal?.removeEventListener("abort", leave);
        if (reply instanceof LineError) reject(reply);
        else resolve(reply);
      },
    };
    for (const frame of frames) this.#socket.write(frame);
    return promise;
  }

  #take(chunk: Uint8Array): void {
    if (this.#over) return;
    try {
      this.#reader.push(chunk, (message) => {
        if (this.#over) return;
        if (message instanceof WireError) throw message;
        this.#hear(readResponse(message));
      });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#end("garbled", error.message);
    }
  }

  #hear(response: Response): void {
    this.#heardAt = this.#settings.clock.now();
    const asked = this.#asked;
    if (isPush(response, asked?.command)) return this.#events.push(response);
    const fits = asked !== undefined && (response.is === "Error" || answers(response, asked.command));
    if (fits) asked.settle(response);
    else this.#end("garbled", `${response.is} came in answer to ${asked?.command.is ?? "nothing"}.`);
  }

  #end(why: LineEnd, message: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#reader.close();
    this.#socket.destroy();
    this.#asked?.settle(new LineError(why, message, true));
    this.#events.ended();
  }
}
