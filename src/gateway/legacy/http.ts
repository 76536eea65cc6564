import type { Answer, Channel, Exchange, Json, Source } from "../../contract/index.ts";
import { type Core, viewerOf } from "../core.ts";
import { Fault, faultOf } from "../errors.ts";
import { faultAnswer } from "../fault-answer.ts";
import { type Batch, classify, errorText, type Incoming, type Notification, type Request, type Response } from "../json-rpc.ts";
import { discoverMembers } from "../modern/discover.ts";
import { serverMeta } from "../modern/server-meta.ts";
import { offeredTo } from "../offered.ts";
import { batchesIn } from "../profile.ts";
import { legacyReply, pieces, wholeText } from "../reply.ts";
import { has, isLegacyRevision } from "../revision.ts";
import { RETRY_MS } from "./resumable-stream.ts";
import { initializeMembers, newSession } from "./initialize.ts";
import { Newcomers, SESSION, sessionName, sessionRequired, sessionUnknown } from "./newcomers.ts";
import { OpenStream } from "./open-stream.ts";
import { answeredText, type Answered, type LegacyAside, noticed, performLegacy } from "./perform.ts";
import { finish, PostAside, streamHeaders } from "./post-aside.ts";
import { inTurn, notOfSize, refuseWhole } from "./batch-faults.ts";
import type { Session } from "./session.ts";
import { Sessions } from "./sessions.ts";

const STANDALONE = "get";
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
    if (incoming.kind === "batch") return this.#core.work.during(() => this.#batch(session, exchange, incoming.items));
    if (incoming.kind === "notification" && incoming.method === "notifications/initialized") session.ready = true;
    // An answer nobody waits for any more is not the client's fault.
    const passed = this.#heard(session, exchange, incoming);
    return passed === undefined ? ACCEPTED : passed.then(() => ACCEPTED);
  }

  /** What asks for no reply. What nothing here waits for may be for another node; that costs as much as a call. */
  #heard(session: Session, exchange: Exchange, incoming: Response | Notification): Promise<void> | undefined {
    const response = incoming.kind === "response";
    const here = response ? session.requests.answered(incoming) : noticed(session, incoming);
    if (here || session.nodes === undefined) return undefined;
    this.#core.limit(exchange.caller, session.viewerFor(exchange.caller));
    if (response) return session.nodes.answered(session, incoming);
    session.nodes.noticed(session, incoming);
    return undefined;
  }

  /** The standalone stream, or the rest of a reply that broke off. */
  async get(exchange: Exchange): Promise<Answer> {
    const session = await this.#session(exchange, exchange.header("mcp-protocol-version")?.trim());
    const accept = exchange.header("accept");
    if (accept !== undefined && !EVENTS.test(accept))
      throw new Fault("NOT_ACCEPTABLE", "The client must accept text/event-stream.", { reason: "listen-accept" });
    this.#core.limit(exchange.caller, session.viewerFor(exchange.caller));
    const last = exchange.header("last-event-id");
    const { streams, profile } = this.#core.settings;
    const missed = last === undefined ? undefined : await streams.after(session.row.id, last);
    if (missed === undefined && last !== undefined && profile.refusesEvents)
      throw new Fault("SESSION_UNKNOWN", "There is no such event; ask without Last-Event-ID.", { reason: "event-unknown" });
    if (missed !== undefined && missed.stream !== STANDALONE && last !== undefined)
      return this.#resume(session, exchange, missed.stream, last);
    return this.#standalone(session, exchange, last !== undefined);
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
    return { status: 200, body: wholeText(legacyReply(id, { members, meta: serverMeta(this.#core) })) };
  }

  async #initialize(exchange: Exchange, request: Request): Promise<Answer> {
    const { settings } = this.#core;
    if (exchange.header(SESSION) !== undefined && settings.unknownSession === "reject" && !settings.profile.anyInitialize)
      throw new Fault("INVALID_REQUEST", "initialize begins a session of its own; leave the Mcp-Session-Id header out.");
    try {
      this.#core.limit(exchange.caller);
      const row = newSession(this.#core, request, exchange.caller, exchange.posture);
      const session = await this.#newcomers.begin(row, exchange);
      const offered = await offeredTo(settings, session.source, session.viewerFor(exchange.caller));
      return {
        status: 200,
        headers: { [SESSION]: sessionName(session, exchange) },
        body: wholeText(legacyReply(request.id, { members: initializeMembers(this.#core, session.revision, offered) })),
      };
    } catch (error) {
      return faultAnswer(faultOf(error), "legacy", request.id, settings.profile.faults);
    }
  }

  /** Throws, or rejects, where the caller has no such session. */
  #session(exchange: Exchange, version: string | undefined): Session | Promise<Session> {
    const id = exchange.header(SESSION);
    if (id === undefined) throw sessionRequired();
    const found = this.#newcomers.known(id, exchange);
    return found instanceof Promise ? found.then((one) => this.#usable(one, version)) : this.#usable(found, version);
  }

  #usable(session: Session | undefined, version: string | undefined): Session {
    const found = usable(session, version);
    if (version !== undefined && version !== found.revision && this.#core.settings.profile.sameVersion)
      throw new Fault("VERSION", `This session speaks ${found.revision}.`, { reason: "session-other-version" });
    return found;
  }

  #request(session: Session, exchange: Exchange, request: Request): Answer | Promise<Answer> {
    const aside = new PostAside(this.#core, session, exchange);
    if (request.method === "tools/call" && this.#core.settings.profile.streamsCalls) aside.begin();
    const answer = (answered: Answered): Answer | Promise<Answer> => {
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
    return answered instanceof Promise ? answered.then(answer) : answer(answered);
  }

  async #batch(session: Session, exchange: Exchange, items: readonly Json[]): Promise<Answer> {
    const { profile, limits } = this.#core.settings;
    const { batch: most } = limits;
    if (!batchesIn(profile, session.revision))
      throw new Fault("INVALID_REQUEST", "Batches are part of 2025-03-26 only; send messages one by one.", { reason: "batch-revision" });
    if (items.length === 0 || items.length > most) throw notOfSize(items.length, most);
    const incoming = items.map(classify);
    if (profile.wholeBatches) refuseWhole(incoming, profile.faults);
    const aside = new PostAside(this.#core, session, exchange);
    const run = (one: Incoming): Promise<string | undefined> => this.#inBatch(session, exchange, aside, one);
    const replies = profile.wholeBatches ? await inTurn(incoming, run) : await Promise.all(incoming.map(run));
    const texts = replies.filter((text) => text !== undefined);
    if (aside.stream !== undefined) {
      for (const text of texts) aside.stream.send(JSON.parse(text));
      await aside.stream.finish(undefined);
      session.dropStream(aside.stream);
      return { status: 200 };
    }
    return texts.length === 0 ? ACCEPTED : { status: 200, body: `[${texts.join(",")}]` };
  }

  async #inBatch(session: Session, exchange: Exchange, aside: LegacyAside, incoming: Incoming): Promise<string | undefined> {
    if (incoming.kind === "malformed") return errorText(incoming.id, incoming.fault, "legacy", this.#core.settings.profile.faults);
    if (incoming.kind !== "request") {
      try {
        await this.#heard(session, exchange, incoming);
        return undefined;
      } catch (error) {
        return errorText(null, faultOf(error), "legacy", this.#core.settings.profile.faults);
      }
    }
    const answered = await performLegacy(this.#core, session, incoming, {
      caller: exchange.caller,
      aside,
      idempotencyKey: undefined,
      ordered: false,
    });
    if (answered === undefined) return undefined;
    const text = answeredText(this.#core, incoming, answered);
    return typeof text === "string" ? text : wholeText(text);
  }

  async #standalone(session: Session, exchange: Exchange, again: boolean): Promise<Answer> {
    if (session.nodes !== undefined && (again || !session.listened)) {
      await session.nodes.claim(session, again);
      usable(session.closed ? undefined : session, undefined);
    }
    // A client that comes back with an event id has lost the stream we still hold.
    if (session.listened && !again) throw new Fault("STREAM_TAKEN", "This session has a standalone stream already; there is one.");
    const opened = (): Channel => {
      session.standalone?.close();
      return this.#stream(session, exchange);
    };
    const channel = new OpenStream(this.#core, opened, session);
    if (this.#core.settings.profile.primesStandalone && has(session.revision, "primedStreams")) await this.#prime(session, channel);
    await session.listen(channel, exchange.caller);
    // Of two nodes that the client went to at once, the row names one.
    if (session.listensElsewhere) session.letGo();
    return { status: 200, open: true };
  }

  #stream(session: Session, exchange: Exchange): Channel {
    return exchange.stream(streamHeaders(this.#core.settings.profile, session, exchange));
  }

  async #prime(session: Session, channel: Channel): Promise<void> {
    channel.send("", await this.#core.settings.streams.append(session.row.id, STANDALONE, null), RETRY_MS);
  }

  async #resume(session: Session, exchange: Exchange, name: string, last: string): Promise<Answer> {
    const running = session.stream(name);
    if (running === undefined && session.nodes !== undefined) {
      await session.nodes.replies.follow(
        session,
        name,
        last,
        (owner) => new OpenStream(this.#core, () => this.#stream(session, exchange), owner),
      );
      return { status: 200, open: true };
    }
    const channel = this.#stream(session, exchange);
    const replay = async (): Promise<void> => {
      const missed = await this.#core.settings.streams.after(session.row.id, last);
      for (const { id, message } of missed?.messages ?? []) if (message !== null) channel.send(JSON.stringify(message), id);
    };
    if (running === undefined) {
      await replay();
      return { status: 200 };
    }
    await running.resume(channel, replay);
    return { status: 200, open: true };
  }
}

function usable(session: Session | undefined, version: string | undefined): Session {
  if (session === undefined) throw sessionUnknown();
  if (version !== undefined && !isLegacyRevision(version))
    throw new Fault("VERSION", `Unsupported MCP-Protocol-Version; this session speaks ${session.revision}.`, { reason: "session-version" });
  return session;
}
