// Owns: one connection: its commands, their replies and pushes. Does not own: retries (dialer.ts), pools (command-client.ts).
import { connect, type Socket } from "node:net";
import { type Codec, WireReader, WireWriter } from "../wire/codec.ts";
import { type Command, printCommand } from "../wire/commands.ts";
import { type Answer, type Push, readResponse, type Response } from "../wire/responses.ts";
import { WireError } from "../wire/wire-json.ts";
import { type ConnectionEnd, ConnectionError, serverError } from "./errors.ts";
import type { Settings } from "./options.ts";

/** The answer to each command that succeeds. */
const ANSWER_TO = {
  StartActor: "ActorStarted",
  StopActor: "ActorStopped",
  TerminateActor: "ActorStopped",
  ListActors: "ActorList",
  SubscribeToActor: "Subscribed",
  UnsubscribeFromActor: "Unsubscribed",
  SendActorMessage: "SentMessage",
  RequestActorMessage: "RequestedMessage",
  GetActorManifest: "ActorManifest",
  GetActorStatus: "ActorStatus",
  RestartActor: "Restarted",
  GetActorState: "ActorState",
  GetActorEvents: "ActorEvents",
  GetActorMetrics: "ActorMetrics",
  UpdateActorComponent: "ActorComponentUpdated",
  OpenChannel: "ChannelOpened",
  SendOnChannel: "MessageSent",
  CloseChannel: "ChannelClosed",
  NewStore: "StoreCreated",
} as const satisfies Record<Command["type"], Answer["type"]>;

export type Refusal = Extract<Answer, { type: "Error" }>;
type AnswerOfType<A, T> = A extends { readonly type: infer Some } ? (T extends Some ? A : never) : never;
/** The answer to a command that was not refused. */
export type AnswerTo<T extends Command["type"]> = AnswerOfType<Answer, (typeof ANSWER_TO)[T]>;

const subjectOf = (message: Answer | Command): string | undefined =>
  "channelId" in message ? message.channelId : "id" in message ? message.id : undefined;

/** Whether it may be the reply to that command. A reply for another id is not. */
function isAnswerTo<C extends Command>(reply: Answer, command: C): reply is Answer & AnswerTo<C["type"]> {
  if (reply.type !== ANSWER_TO[command.type]) return false;
  const [commandId, replyId] = [subjectOf(command), subjectOf(reply)];
  return commandId === undefined || replyId === undefined || commandId === replyId;
}

/** The pushed end of a channel has the same form as the answer to closing it. */
function isPush(response: Response, pending: Command | undefined): response is Push {
  switch (response.type) {
    case "ActorEvent":
    case "ActorError":
    case "ActorResult":
    case "ChannelMessage":
      return true;
    case "ChannelClosed":
      return pending?.type !== "CloseChannel";
    default:
      return false;
  }
}

const KEEP_ALIVE_MS = 30_000;

/** Connects, or fails as `unreached` after the time limit. */
function connectSocket({ host, port, server, clock, limits }: Settings): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  const fail = (why: string): void => {
    undo();
    socket.destroy();
    reject(new ConnectionError("unreached", `No connection to ${server}: ${why}.`, false));
  };
  const failed = (error: NodeJS.ErrnoException): void => fail(error.code ?? error.name);
  const undo = clock.after(limits.connectMs, () => fail(`no answer within ${limits.connectMs} ms`));
  socket.once("error", failed);
  socket.once("connect", () => {
    undo();
    socket.off("error", failed);
    resolve(socket);
  });
  return promise;
}

export interface ConnectionEvents {
  push(push: Push): void;
  /** Called once. */
  ended(): void;
}

/** Buffers the pushes that come before their receiver is ready. */
export class PushBuffer {
  readonly #limit: number;
  readonly #buffered: Push[] = [];
  #take: ((push: Push) => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(push: Push): void {
    if (this.#take !== undefined) this.#take(push);
    else if (this.#buffered.length < this.#limit) this.#buffered.push(push);
  }

  release(take: (push: Push) => void): void {
    this.#take = take;
    for (const push of this.#buffered.splice(0)) take(push);
  }
}

export interface SendOptions {
  /** How long to wait for the reply. Default: `replyMs`. */
  readonly limitMs?: number | undefined;
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
  async send<C extends Command>(command: C, options: SendOptions = {}): Promise<AnswerTo<C["type"]>> {
    if (this.#queued >= this.#settings.limits.waiting) throw new ConnectionError("left", "Too much waits for this connection.", false);
    this.#queued += 1;
    const answer = this.#previous.then(() => this.#write(command, options));
    this.#previous = answer.catch(() => undefined);
    try {
      const reply = await answer;
      if (reply.type === "Error") throw serverError(reply, this.#settings);
      if (!isAnswerTo(reply, command)) throw new ConnectionError("garbled", "The reply was not to what was asked.", true);
      return reply;
    } finally {
      this.#queued -= 1;
    }
  }

  #write(command: Command, { limitMs = this.#settings.limits.replyMs, signal }: SendOptions): Promise<Answer> {
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
    const fits = pending !== undefined && (response.type === "Error" || isAnswerTo(response, pending.command));
    if (fits) pending.settle(response);
    else this.#end("garbled", `${response.type} came in answer to ${pending?.command.type ?? "nothing"}.`);
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
