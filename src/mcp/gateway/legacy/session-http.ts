// Owns: Streamable HTTP of 2025-03-26 to 2025-11-25: what a POST, GET and DELETE do with their session, and the response to a POST.
// Does not own: which session that is (sessions.ts), how one request is performed (session-request.ts), what a GET listens to (get-stream.ts).
import type { Answer, Exchange, Json, JsonObject, Source } from "../../../core/contract/index.ts";
import { andThen, readAccept } from "../../../core/contract/internal.ts";
import type { SilentCall } from "../active-requests.ts";
import { discoverMembers, initializeMembers, offeredTo } from "../capabilities.ts";
import { type Core, viewerOf } from "../core.ts";
import { answersTo, readBatch } from "../dialects.ts";
import { errorText, exchangeFault, Fault, faultAnswer, faultOf } from "../errors.ts";
import { type Batch, type Incoming, type Notification, type Request, type Response } from "../json-rpc.ts";
import { observeBegin } from "../observer.ts";
import { legacyReply, pieces, wholeText } from "../result-shapes.ts";
import { has, isLegacyRevision } from "../revision.ts";
import { NoAnswer } from "./client-requests.ts";
import { openGetStream } from "./get-stream.ts";
import { replyMark } from "./remote-replies.ts";
import { ResumableStream } from "./resumable-stream.ts";
import { type Answered, answeredText, type SessionChannel, SessionRequest } from "./session-request.ts";
import type { Session } from "./session.ts";
import { SESSION, sessionCalled, sessionRequired, Sessions, sessionUnknown, streamHeaders } from "./sessions.ts";

const EVENTS = /text\/(?:event-stream|\*)|\*\/\*/i;
const ACCEPTED: Answer = Object.freeze({ status: 202 });

export class SessionHttp {
  readonly #core: Core;
  readonly sessions: Sessions;
  readonly #sourceFor: (posture: string | undefined) => Source;

  constructor(core: Core, sourceFor: (posture: string | undefined) => Source) {
    this.#core = core;
    this.#sourceFor = sourceFor;
    this.sessions = new Sessions(core, sourceFor);
  }

  post(exchange: Exchange, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    if (incoming.kind === "request" && incoming.method === "initialize") return this.#initialize(exchange, incoming);
    const { unknownSession, dialect } = this.#core.settings;
    const named = exchange.header(SESSION) !== undefined;
    if (dialect.discoversInSessions && !named && incoming.kind === "request" && incoming.method === "server/discover")
      return this.#discover(exchange, incoming);
    // A client that claims the revision with batches lacks a session; any other sent a batch in place of a message.
    if (incoming.kind === "batch" && unknownSession === "reject" && !named && version !== "2025-03-26")
      throw sessionRequired("batch-sessionless");
    return andThen(this.#sessionToPost(exchange, version), this.#posted, exchange, incoming);
  }

  /** Rejects without a session. */
  async get(exchange: Exchange): Promise<Answer> {
    const session = await this.#session(exchange, exchange.header("mcp-protocol-version")?.trim());
    const accept = exchange.header("accept");
    if (accept !== undefined && !EVENTS.test(accept))
      throw new Fault("NOT_ACCEPTABLE", "The client must accept text/event-stream.", { reason: "listen-accept" });
    this.#core.limit(exchange.caller, session.viewerFor(exchange.caller));
    return openGetStream(this.#core, session, exchange);
  }

  /** Rejects without a session. */
  async delete(exchange: Exchange): Promise<Answer> {
    const session = await this.#session(exchange, exchange.header("mcp-protocol-version")?.trim());
    await this.sessions.end(session);
    return { status: this.#core.settings.dialect.endStatus };
  }

  #sessionToPost(exchange: Exchange, version: string | undefined): Session | Promise<Session> {
    const { unknownSession } = this.#core.settings;
    if (unknownSession === "reject") return this.#session(exchange, version);
    return andThen(this.sessions.findOrBegin(unknownSession, exchange, version), this.#usable, version);
  }

  /** The session that a request names. Throws, or rejects, if its caller has no such session. */
  #session(exchange: Exchange, version: string | undefined): Session | Promise<Session> {
    const id = exchange.header(SESSION);
    if (id === undefined) throw sessionRequired();
    return andThen(this.sessions.find(id, exchange), this.#usable, version);
  }

  readonly #usable = (session: Session | undefined, version: string | undefined): Session => {
    if (session === undefined) throw sessionUnknown();
    const { revision } = session;
    if (version === undefined || version === revision) return session;
    if (!isLegacyRevision(version))
      throw new Fault("VERSION", `Unsupported MCP-Protocol-Version; this session speaks ${revision}.`, { reason: "session-version" });
    if (this.#core.settings.dialect.sameVersion)
      throw new Fault("VERSION", `This session speaks ${revision}.`, { reason: "session-other-version" });
    return session;
  };

  readonly #posted = (session: Session, exchange: Exchange, incoming: Incoming | Batch): Answer | Promise<Answer> =>
    this.#core.settings.dialect.sessionOn === "all"
      ? this.#withName(session, exchange, incoming)
      : this.#answer(session, exchange, incoming);

  /** Names the session in each answer, which some dialects do. */
  async #withName(session: Session, exchange: Exchange, incoming: Incoming | Batch): Promise<Answer> {
    let answer: Answer;
    try {
      answer = await this.#answer(session, exchange, incoming);
    } catch (error) {
      const id = incoming.kind === "malformed" ? incoming.id : null;
      answer = faultAnswer(faultOf(error), "legacy", id, this.#core.settings.dialect.faults);
    }
    return { ...answer, headers: { ...answer.headers, [SESSION]: sessionCalled(session, exchange) } };
  }

  #answer(session: Session, exchange: Exchange, incoming: Incoming | Batch): Answer | Promise<Answer> {
    if (incoming.kind === "malformed") throw incoming.fault;
    if (incoming.kind === "request") return this.#core.work.during(() => this.#request(session, exchange, incoming));
    if (incoming.kind === "batch") return this.#core.work.during(() => answerBatch(this.#core, session, exchange, incoming.items));
    if (incoming.kind === "notification" && incoming.method === "notifications/initialized") session.ready = true;
    // A response that nothing waits for any more is not the client's fault.
    return andThen(pass(this.#core, session, exchange, incoming), () => ACCEPTED);
  }

  #request(session: Session, exchange: Exchange, request: Request): Answer | Promise<Answer> {
    const channel = new PostChannel(this.#core, session, exchange, request);
    if (request.method === "tools/call" && this.#core.settings.dialect.streamsCalls) channel.begin();
    const idempotencyKey = exchange.header("idempotency-key");
    const answered = new SessionRequest(this.#core, session, request, {
      caller: exchange.caller,
      channel,
      idempotencyKey,
      ordered: false,
    }).answer();
    if (answered instanceof Promise) this.#core.silentCalls.add(channel);
    return andThen(answered, PostChannel.answer, channel);
  }

  /** Before there is a session. */
  async #discover(exchange: Exchange, { id }: Request): Promise<Answer> {
    this.#core.limit(exchange.caller);
    const members = await discoverMembers(this.#core.settings, this.#sourceFor(exchange.posture), viewerOf(exchange.caller, undefined));
    return { status: 200, body: wholeText(legacyReply(id, { members, meta: this.#core.serverMeta })) };
  }

  async #initialize(exchange: Exchange, request: Request): Promise<Answer> {
    const { settings } = this.#core;
    if (exchange.header(SESSION) !== undefined && settings.unknownSession === "reject" && !settings.dialect.anyInitialize)
      throw new Fault("INVALID_REQUEST", "initialize begins a session of its own; leave the Mcp-Session-Id header out.");
    try {
      return await observeBegin(this.#core, request, exchange.caller, () => this.#begin(exchange, request));
    } catch (error) {
      return faultAnswer(exchangeFault(this.#core, error), "legacy", request.id, settings.dialect.faults);
    }
  }

  async #begin(exchange: Exchange, request: Request): Promise<Answer> {
    const { settings } = this.#core;
    this.#core.limit(exchange.caller);
    const session = await this.sessions.initialize(request, exchange);
    const offered = await offeredTo(settings, session.source, session.viewerFor(exchange.caller));
    return {
      status: 200,
      headers: { [SESSION]: sessionCalled(session, exchange) },
      body: wholeText(legacyReply(request.id, { members: initializeMembers(settings, session.revision, offered) })),
    };
  }
}

/** Passes on what gets no reply. What nothing here waits for may be for another node; to send it there costs as much as a call. */
function pass(core: Core, session: Session, { caller }: Exchange, incoming: Response | Notification): Promise<void> | undefined {
  const isResponse = incoming.kind === "response";
  const here = isResponse ? session.clientRequests.settle(incoming) : session.handleNotification(incoming);
  if (here || session.nodes === undefined) return undefined;
  core.limit(caller, session.viewerFor(caller));
  if (isResponse) return session.nodes.passResponse(session, incoming);
  session.nodes.passNotification(session, incoming);
  return undefined;
}

/** Several messages in one POST; the replies are one list, or on one stream. */
async function answerBatch(core: Core, session: Session, exchange: Exchange, items: readonly Json[]): Promise<Answer> {
  const { dialect, limits } = core.settings;
  const batch = readBatch(items, session.revision, dialect, limits.batch);
  const channel = new PostChannel(core, session, exchange, undefined);
  core.silentCalls.add(channel);
  const replies = await answersTo(batch, dialect, (one) => answerOne(core, session, exchange, channel, one));
  channel.end();
  const texts = replies.filter((text) => text !== undefined);
  if (channel.stream !== undefined) {
    for (const text of texts) channel.stream.send(JSON.parse(text));
    return channel.endStream(channel.stream, undefined);
  }
  return texts.length === 0 ? ACCEPTED : { status: 200, body: `[${texts.join(",")}]` };
}

async function answerOne(
  core: Core,
  session: Session,
  exchange: Exchange,
  channel: PostChannel,
  incoming: Incoming,
): Promise<string | undefined> {
  const { faults } = core.settings.dialect;
  if (incoming.kind === "malformed") return errorText(incoming.id, incoming.fault, "legacy", faults);
  if (incoming.kind !== "request") {
    try {
      await pass(core, session, exchange, incoming);
      return undefined;
    } catch (error) {
      return errorText(null, faultOf(error), "legacy", faults);
    }
  }
  const origin = { caller: exchange.caller, channel, idempotencyKey: undefined, ordered: false };
  const answered = await new SessionRequest(core, session, incoming, origin).answer();
  return answered && wholeText(answeredText(core, incoming, answered));
}

/** The response to one POST: a plain answer, or an event stream once something has to be sent before the reply. */
class PostChannel implements SessionChannel, SilentCall {
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
