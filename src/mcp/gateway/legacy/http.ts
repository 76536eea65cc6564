import type { Answer, Exchange, Source } from "../../../core/contract/index.ts";
import { type Core, viewerOf } from "../core.ts";
import { Fault, faultOf } from "../errors.ts";
import { exchangeFault } from "../fault-answers.ts";
import { faultAnswer } from "../fault-answers.ts";
import type { Batch, Incoming, Request } from "../json-rpc.ts";
import { discoverMembers } from "../modern/discover.ts";
import { offeredTo } from "../offered.ts";
import { legacyReply, pieces, wholeText } from "../reply.ts";
import { isLegacyRevision } from "../revision.ts";
import { answerBatch } from "./batch.ts";
import { openGetStream } from "./get-stream.ts";
import { heard } from "./heard.ts";
import { initializeMembers, newSession } from "./initialize.ts";
import { Newcomers, SESSION, sessionName, sessionRequired, sessionUnknown } from "./newcomers.ts";
import { observedBegin } from "../observed.ts";
import { type Answered, performLegacy } from "./perform.ts";
import { finish, PostAside } from "./post-aside.ts";
import type { Session } from "./session.ts";
import { Sessions } from "./sessions.ts";

const EVENTS = /text\/(?:event-stream|\*)|\*\/\*/i;
const ACCEPTED: Answer = Object.freeze({ status: 202 });

/** Streamable HTTP as 2025-03-26 to 2025-11-25 have it: sessions, one standalone stream each, replies that can be resumed. */
export class LegacyHttp {
  readonly #core: Core;
  readonly sessions: Sessions;
  readonly #newcomers: Newcomers;
  readonly #sourceFor: (posture: string | undefined) => Source;

  constructor(core: Core, sourceFor: (posture: string | undefined) => Source) {
    this.#core = core;
    this.#sourceFor = sourceFor;
    this.sessions = new Sessions(core, sourceFor);
    this.#newcomers = new Newcomers(core, this.sessions);
  }

  post(exchange: Exchange, incoming: Incoming | Batch, version: string | undefined): Answer | Promise<Answer> {
    if (incoming.kind === "request" && incoming.method === "initialize") return this.#initialize(exchange, incoming);
    const { unknownSession, profile } = this.#core.settings;
    if (profile.discoversInSessions && incoming.kind === "request" && incoming.method === "server/discover") {
      if (exchange.header(SESSION) === undefined) return this.#discover(exchange, incoming);
    }
    // One that claims the revision with batches lacks a session; else there is no message where one has to be.
    if (incoming.kind === "batch" && unknownSession === "reject" && exchange.header(SESSION) === undefined && version !== "2025-03-26")
      throw sessionRequired("batch-sessionless");
    const session = unknownSession === "reject" ? this.#session(exchange, version) : this.#arrived(unknownSession, exchange, version);
    if (session instanceof Promise) return session.then((found) => this.#named(found, exchange, incoming));
    return this.#named(session, exchange, incoming);
  }

  /** The session of a request, which begins here if there is none. */
  async #arrived(how: "reissue" | "adopt", exchange: Exchange, version: string | undefined): Promise<Session> {
    return this.#usable(await this.#newcomers.arrived(how, exchange, version), version);
  }

  /** Whose answer it is, where the profile says so in each. */
  #named(session: Session, exchange: Exchange, incoming: Incoming | Batch): Answer | Promise<Answer> {
    if (this.#core.settings.profile.sessionOn !== "all") return this.#posted(session, exchange, incoming);
    return this.#withName(session, exchange, incoming);
  }

  async #withName(session: Session, exchange: Exchange, incoming: Incoming | Batch): Promise<Answer> {
    const name = (answer: Answer): Answer => ({ ...answer, headers: { ...answer.headers, [SESSION]: sessionName(session, exchange) } });
    try {
      return name(await this.#posted(session, exchange, incoming));
    } catch (error) {
      const id = incoming.kind === "malformed" ? incoming.id : null;
      return name(faultAnswer(faultOf(error), "legacy", id, this.#core.settings.profile.faults));
    }
  }

  #posted(session: Session, exchange: Exchange, incoming: Incoming | Batch): Answer | Promise<Answer> {
    if (incoming.kind === "malformed") throw incoming.fault;
    if (incoming.kind === "request") return this.#core.work.during(() => this.#request(session, exchange, incoming));
    if (incoming.kind === "batch") return this.#core.work.during(() => answerBatch(this.#core, session, exchange, incoming.items));
    if (incoming.kind === "notification" && incoming.method === "notifications/initialized") session.ready = true;
    // An answer nobody waits for any more is not the client's fault.
    const passed = heard(this.#core, session, exchange, incoming);
    return passed === undefined ? ACCEPTED : passed.then(() => ACCEPTED);
  }

  /** The standalone stream, or the rest of a reply that broke off. */
  async get(exchange: Exchange): Promise<Answer> {
    const session = await this.#session(exchange, exchange.header("mcp-protocol-version")?.trim());
    const accept = exchange.header("accept");
    if (accept !== undefined && !EVENTS.test(accept))
      throw new Fault("NOT_ACCEPTABLE", "The client must accept text/event-stream.", { reason: "listen-accept" });
    this.#core.limit(exchange.caller, session.viewerFor(exchange.caller));
    return openGetStream(this.#core, session, exchange);
  }

  async delete(exchange: Exchange): Promise<Answer> {
    const session = await this.#session(exchange, exchange.header("mcp-protocol-version")?.trim());
    await this.sessions.end(session);
    return { status: this.#core.settings.profile.endStatus };
  }

  /** Before there is a session. */
  async #discover(exchange: Exchange, { id }: Request): Promise<Answer> {
    this.#core.limit(exchange.caller);
    const members = await discoverMembers(this.#core.settings, this.#sourceFor(exchange.posture), viewerOf(exchange.caller, undefined));
    return { status: 200, body: wholeText(legacyReply(id, { members, meta: this.#core.serverMeta })) };
  }

  async #initialize(exchange: Exchange, request: Request): Promise<Answer> {
    const { settings } = this.#core;
    if (exchange.header(SESSION) !== undefined && settings.unknownSession === "reject" && !settings.profile.anyInitialize)
      throw new Fault("INVALID_REQUEST", "initialize begins a session of its own; leave the Mcp-Session-Id header out.");
    try {
      return await observedBegin(this.#core, request, exchange.caller, () => this.#begin(exchange, request));
    } catch (error) {
      return faultAnswer(exchangeFault(this.#core, error), "legacy", request.id, settings.profile.faults);
    }
  }

  async #begin(exchange: Exchange, request: Request): Promise<Answer> {
    this.#core.limit(exchange.caller);
    const row = newSession(this.#core, request, exchange.caller, exchange.posture);
    const session = await this.#newcomers.begin(row, exchange);
    const offered = await offeredTo(this.#core.settings, session.source, session.viewerFor(exchange.caller));
    return {
      status: 200,
      headers: { [SESSION]: sessionName(session, exchange) },
      body: wholeText(legacyReply(request.id, { members: initializeMembers(this.#core, session.revision, offered) })),
    };
  }

  /** Throws, or rejects, where the caller has no such session. */
  #session(exchange: Exchange, version: string | undefined): Session | Promise<Session> {
    const id = exchange.header(SESSION);
    if (id === undefined) throw sessionRequired();
    const found = this.#newcomers.known(id, exchange);
    return found instanceof Promise ? found.then((one) => this.#usable(one, version)) : this.#usable(found, version);
  }

  #usable(session: Session | undefined, version: string | undefined): Session {
    if (session === undefined) throw sessionUnknown();
    const { revision } = session;
    if (version === undefined || version === revision) return session;
    if (!isLegacyRevision(version))
      throw new Fault("VERSION", `Unsupported MCP-Protocol-Version; this session speaks ${revision}.`, { reason: "session-version" });
    if (this.#core.settings.profile.sameVersion)
      throw new Fault("VERSION", `This session speaks ${revision}.`, { reason: "session-other-version" });
    return session;
  }

  #request(session: Session, exchange: Exchange, request: Request): Answer | Promise<Answer> {
    const aside = new PostAside(this.#core, session, exchange, request.id);
    if (request.method === "tools/call" && this.#core.settings.profile.streamsCalls) aside.begin();
    const answer = (answered: Answered): Answer | Promise<Answer> => {
      aside.end();
      if (aside.stream !== undefined) return finish(this.#core, session, aside.stream, request, answered);
      // A cancelled request gets no reply, but its exchange has to end.
      if (answered === undefined) return ACCEPTED;
      if ("error" in answered) return faultAnswer(answered.error, "legacy", request.id, this.#core.settings.profile.faults);
      return { status: 200, body: pieces(answered) };
    };
    const answered = performLegacy(this.#core, session, request, {
      caller: exchange.caller,
      aside,
      idempotencyKey: exchange.header("idempotency-key"),
      ordered: false,
    });
    if (!(answered instanceof Promise)) return answer(answered);
    this.#core.silent.add(aside);
    return answered.then(answer);
  }
}
