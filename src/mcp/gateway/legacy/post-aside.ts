import type { Answer, Bag, Exchange, Json } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import type { Request, RequestId } from "../json-rpc.ts";
import { acceptsEvents } from "../accepts.ts";
import type { Profile } from "../profile.ts";
import { wholeText } from "../reply.ts";
import { has } from "../revision.ts";
import type { SilentCall } from "../silent-calls.ts";
import { SESSION, sessionName } from "./newcomers.ts";
import { replyMark } from "./node-mark.ts";
import { NoAnswer } from "./client-requests.ts";
import { answeredText, type Answered, type LegacyAside } from "./perform.ts";
import { ResumableStream } from "./resumable-stream.ts";
import type { Session } from "./session.ts";

/** What the head of an event stream says of its session. */
export function streamHeaders({ sessionOn }: Profile, session: Session, exchange: Exchange): Readonly<Record<string, string>> | undefined {
  return sessionOn === "initialize" ? undefined : { [SESSION]: sessionName(session, exchange) };
}

/** Turns a reply into an event stream when something has to be said before it. */
export class PostAside implements LegacyAside, SilentCall {
  readonly #core: Core;
  readonly #session: Session;
  readonly #exchange: Exchange;
  readonly #request: RequestId | undefined;
  stream: ResumableStream | undefined;
  place = -1;
  since = 0;
  /** It was answered: what a handler says after that is told to nobody. */
  #over = false;
  /** Where a profile makes something of progress, whoever asked for it. */
  readonly event: ((name: string, data: Json) => void) | undefined;

  /** `request`: the one that is answered; several have none. */
  constructor(core: Core, session: Session, exchange: Exchange, request?: RequestId) {
    this.#core = core;
    this.#session = session;
    this.#exchange = exchange;
    this.#request = request;
    const { profile } = core.settings;
    if (profile.progressEvents) this.event = (name, data) => this.#telling()?.event(name, data);
    else if (profile.streamsSteps) this.event = () => this.begin();
  }

  tell(method: string, params: Bag): void {
    if (this.#core.settings.profile.acceptsEither && !this.#takesEvents) return;
    const stream = this.#open();
    if (stream?.ready === true) stream.send({ jsonrpc: "2.0", method, params });
  }

  /** Throws `NoAnswer` where there is no stream to ask by. */
  ask(message: Bag): void {
    const stream = this.#open();
    if (stream === undefined) throw new NoAnswer("CANNOT_ASK", "Too many streams are open to ask you anything by another: close one.");
    stream.send(message);
  }

  /** Makes it an event stream at once, where the client takes one. */
  begin(): void {
    if (this.#takesEvents) this.#open();
  }

  breakSilence(): void {
    if (acceptsEvents(this.#exchange.header("accept") ?? "")) this.#open();
  }

  /** Nothing comes before the answer any more. */
  end(): void {
    this.#over = true;
    this.#core.silent.delete(this);
  }

  get #takesEvents(): boolean {
    return this.#exchange.header("accept")?.toLowerCase().includes("text/event-stream") === true;
  }

  #telling(): ResumableStream | undefined {
    return this.#over ? undefined : this.stream;
  }

  #open(): ResumableStream | undefined {
    if (this.stream !== undefined || this.#over) return this.#telling();
    const { settings } = this.#core;
    const name = replyMark(settings, this.#request);
    const options = {
      settings,
      session: this.#session.row.id,
      name,
      primed: has(this.#session.revision, "primedStreams"),
      named: settings.profile.progressEvents,
    };
    const channel = this.#exchange.stream(streamHeaders(settings.profile, this.#session, this.#exchange));
    // One that may have no stream gets its answer all the same: what it asked for is being done.
    if (channel.gone.aborted) return undefined;
    this.stream = new ResumableStream(options, channel);
    this.#session.keepStream(this.stream);
    return this.stream;
  }
}

/** Ends an event stream with its reply. */
export async function finish(core: Core, session: Session, stream: ResumableStream, request: Request, answered: Answered): Promise<Answer> {
  if (answered === undefined) return endStream(core, session, stream, undefined);
  const text = answeredText(core, request, answered);
  return endStream(core, session, stream, JSON.parse(typeof text === "string" ? text : wholeText(text)));
}

/** With its last message, if there is one more. */
export async function endStream(core: Core, session: Session, stream: ResumableStream, message: Json | undefined): Promise<Answer> {
  const gone = await stream.finish(message);
  session.dropStream(stream);
  if (gone !== undefined) core.delivered.add(session.row.id, stream.name, gone);
  return { status: 200 };
}
