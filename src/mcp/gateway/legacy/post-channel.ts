// Owns: the response to one POST of a session: a plain answer, or an event stream once something has to be sent before the reply. Does not
// own: the stream itself (resumable-stream.ts).
import type { Answer, JsonObject, Exchange, Json } from "../../../core/contract/index.ts";
import { readAccept } from "../../../core/contract/internal.ts";
import type { Core } from "../core.ts";
import type { Dialect } from "../dialects.ts";
import { faultAnswer } from "../errors.ts";
import type { Request } from "../json-rpc.ts";
import type { SilentCall } from "../active-requests.ts";
import { pieces, wholeText } from "../result-shapes.ts";
import { has } from "../revision.ts";
import { NoAnswer } from "./client-requests.ts";
import { replyMark } from "./remote-replies.ts";
import { ResumableStream } from "./resumable-stream.ts";
import { SESSION, sessionCalled } from "./session-factory.ts";
import { type Answered, answeredText, type SessionChannel } from "./session-request.ts";
import type { Session } from "./session.ts";

/** The headers of an event stream, some of which name the session. */
export function streamHeaders({ sessionOn }: Dialect, session: Session, exchange: Exchange): Readonly<Record<string, string>> | undefined {
  return sessionOn === "initialize" ? undefined : { [SESSION]: sessionCalled(session, exchange) };
}

export class PostChannel implements SessionChannel, SilentCall {
  readonly #core: Core;
  readonly #session: Session;
  readonly #exchange: Exchange;
  readonly #request: Request | undefined;
  stream: ResumableStream | undefined;
  place = -1;
  since = 0;
  /** It was answered: what a handler still reports is dropped. */
  #over = false;
  /** What the dialect makes of progress, whether or not the client requested it. */
  readonly event: ((name: string, data: Json) => void) | undefined;

  /** `request`: undefined for a batch. */
  constructor(core: Core, session: Session, exchange: Exchange, request: Request | undefined) {
    this.#core = core;
    this.#session = session;
    this.#exchange = exchange;
    this.#request = request;
    const { dialect } = core.settings;
    if (dialect.progressEvents) this.event = (name, data) => (this.#over ? undefined : this.stream?.event(name, data));
    else if (dialect.streamsSteps) this.event = () => this.begin();
  }

  notify(method: string, params: JsonObject): void {
    if (this.#core.settings.dialect.acceptsEither && !this.#takesEvents) return;
    const stream = this.#open();
    if (stream?.ready === true) stream.send({ jsonrpc: "2.0", method, params });
  }

  /** Throws `NoAnswer` if there can be no stream. */
  ask(message: JsonObject): void {
    const accept = this.#exchange.header("accept");
    if (accept !== undefined && !readAccept(accept).events)
      throw new NoAnswer("CANNOT_ASK", "This call has a question for you, which needs an event stream: accept text/event-stream, too.");
    const stream = this.#open();
    if (stream === undefined) throw new NoAnswer("CANNOT_ASK", "Too many streams are open to ask you anything by another: close one.");
    stream.send(message);
  }

  /** Makes it an event stream at once if the client accepts one. */
  begin(): void {
    if (this.#takesEvents) this.#open();
  }

  breakSilence(): void {
    if (readAccept(this.#exchange.header("accept") ?? "").events) this.#open();
  }

  /** Static, since the function that a pending reply is passed to should close over nothing. */
  static answer(this: void, answered: Answered, channel: PostChannel): Answer | Promise<Answer> {
    return channel.#answer(answered);
  }

  #answer(answered: Answered): Answer | Promise<Answer> {
    this.end();
    const request = this.#request;
    if (this.stream !== undefined) {
      const text = answered && request && wholeText(answeredText(this.#core, request, answered));
      return this.endStream(this.stream, text === undefined ? undefined : JSON.parse(text));
    }
    // A cancelled request gets no reply, but its exchange has to end.
    if (answered === undefined) return { status: 202 };
    if ("error" in answered) return faultAnswer(answered.error, "legacy", request?.id ?? null, this.#core.settings.dialect.faults);
    return { status: 200, body: pieces(answered) };
  }

  /** Nothing more comes before the answer. */
  end(): void {
    this.#over = true;
    this.#core.silentCalls.delete(this);
  }

  /** `message`: the last one, if there is one more. */
  async endStream(stream: ResumableStream, message: Json | undefined): Promise<Answer> {
    const disconnected = await stream.finish(message);
    this.#session.removeStream(stream);
    if (disconnected !== undefined) this.#core.sentEvents.add(this.#session.row.id, stream.name, disconnected);
    return { status: 200 };
  }

  get #takesEvents(): boolean {
    return this.#exchange.header("accept")?.toLowerCase().includes("text/event-stream") === true;
  }

  /** Undefined: it was answered, or can have no stream. */
  #open(): ResumableStream | undefined {
    if (this.#over) return undefined;
    if (this.stream !== undefined) return this.stream;
    const { settings } = this.#core;
    const options = {
      settings,
      session: this.#session.row.id,
      name: replyMark(settings, this.#request?.id),
      primed: has(this.#session.revision, "primedStreams"),
      named: settings.dialect.progressEvents,
    };
    const channel = this.#exchange.stream(streamHeaders(settings.dialect, this.#session, this.#exchange));
    // Without a stream it gets its answer all the same: its request is being performed.
    if (channel.disconnected.aborted) return undefined;
    this.stream = new ResumableStream(options, channel);
    this.#session.addStream(this.stream);
    return this.stream;
  }
}
