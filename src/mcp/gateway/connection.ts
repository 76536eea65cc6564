// Owns: a client on one ordered stream: which era it speaks, and the order of what it is sent. Does not own: how a request is performed
// (legacy/session-request.ts, modern/modern-request.ts).
import type { JsonObject, Caller, Channel, Connection, Json } from "../../core/contract/index.ts";
import { isLarge, andThen, andThenElse } from "../../core/contract/internal.ts";
import { ActiveRequests, WorkCounter } from "./active-requests.ts";
import { WITH_TASKS, initializeMembers, offeredTo } from "./capabilities.ts";
import type { Core } from "./core.ts";
import { answersTo, readBatch } from "./dialects.ts";
import { isModernParams } from "./envelope.ts";
import { errorText, Fault, faultOf, inLog, requestFault } from "./errors.ts";
import {
  type Batch,
  decode,
  getsReply,
  type Incoming,
  type Notification,
  notificationText,
  type Request,
  type RequestId,
} from "./json-rpc.ts";
import { newSession } from "./legacy/sessions.ts";
import { type Answered, answeredText, type RequestOrigin, type SessionChannel, SessionRequest } from "./legacy/session-request.ts";
import { Session, SessionNotices } from "./legacy/session.ts";
import { listen, type Listen } from "./modern/listen.ts";
import { type ModernOrigin, type ModernReply, ModernRequest, openRequest } from "./modern/modern-request.ts";
import { observeBegin } from "./observer.ts";
import { legacyReply, wholeText } from "./result-shapes.ts";
import { type Era, LATEST_MODERN, MODERN_REVISIONS } from "./revision.ts";

type MaybeReply = string | undefined;

/** A modern request of this connection, which may be an open `subscriptions/listen`. */
class StreamRequest extends ModernRequest {
  readonly listens: boolean;
  listen: Listen | undefined;

  constructor(core: Core, request: Request, origin: ModernOrigin) {
    super(core, request, origin);
    this.listens = request.method === "subscriptions/listen";
  }

  cancel(): void {
    this.abort();
    this.listen?.cancel();
  }
}

/** The first message decides the era: initialize makes the connection one session, an enveloped request makes it modern. */
export class StreamConnection implements Connection {
  readonly #core: Core;
  readonly #channel: Channel;
  readonly #outOfBand: SessionChannel;
  readonly #caller: Caller;
  readonly #work = new WorkCounter();
  readonly #active = new ActiveRequests<StreamRequest>();
  #session: Session | undefined;
  /** Of the last request of the session. */
  #origin: RequestOrigin | undefined;
  #modern = false;
  #closed = false;

  constructor(core: Core, channel: Channel, caller: Caller) {
    this.#core = core;
    this.#channel = channel;
    this.#outOfBand = new ConnectionChannel(channel);
    this.#caller = caller;
    channel.disconnected.addEventListener("abort", this.#abandon, { once: true });
    core.connections.add(this.#abandon);
  }

  receive(frame: Uint8Array | string, caller: Caller = this.#caller): void {
    if (frame.length === 0 || this.#channel.disconnected.aborted) return;
    const incoming = decode(frame, this.#core.settings.limits);
    const reply = isLarge(frame) ? this.#large(frame, incoming, caller) : this.#reply(incoming, caller);
    // A reply that is there at once is sent at once: no later one can overtake it.
    if (reply instanceof Promise) this.#sendLater(reply);
    else this.#send(reply);
  }

  async close(graceMs?: number): Promise<void> {
    this.#closed = true;
    this.#session?.clientRequests.close();
    // Replies that are pending are still sent. Notifications are not: the token may have expired.
    this.#session?.subscriptions?.stop();
    for (const { listen: listening } of this.#active.all()) listening?.cancel();
    if (graceMs !== undefined && !(await this.#work.idle(this.#core.settings.clock, graceMs))) {
      for (const request of [...this.#active.all(), ...(this.#session?.active.all() ?? [])]) this.#core.pending.giveUp(request);
    }
    await this.#work.quiet();
    this.#end();
  }

  // The client has left and reads no reply: a modern request of it does not start any more.
  readonly #abandon = (): void => {
    this.#session?.clientRequests.close();
    for (const request of this.#active.all()) request.cancel();
    this.#end();
  };

  #end(): void {
    this.#core.connections.delete(this.#abandon);
    this.#channel.disconnected.removeEventListener("abort", this.#abandon);
    if (this.#session === undefined) return;
    this.#session.standalone = undefined;
    this.#session.close();
  }

  #sendLater(reply: Promise<MaybeReply>): void {
    const failed = (error: unknown): void => this.#core.settings.log("error", { event: "connection-failed", ...inLog(error) });
    const sent = (): Promise<void> => reply.then((text) => this.#send(text)).catch(failed);
    void this.#work.during(() => this.#core.work.during(sent));
  }

  #send(text: MaybeReply): void {
    if (text !== undefined) this.#channel.send(text);
  }

  #fault(id: RequestId | null, fault: Fault, era: Era = this.#modern ? "modern" : "legacy"): string {
    return errorText(id, fault, era, this.#core.settings.dialect.faults);
  }

  #reply(incoming: Incoming | Batch, caller: Caller): MaybeReply | Promise<MaybeReply> {
    return incoming.kind === "batch" ? this.#batch(incoming.items, caller) : this.#one(incoming, caller);
  }

  /** The same for a message that counts against the memory budget while it is worked on. */
  #large(frame: Uint8Array | string, incoming: Incoming | Batch, caller: Caller): MaybeReply | Promise<MaybeReply> {
    if (!getsReply(incoming)) return this.#reply(incoming, caller);
    try {
      return this.#core.memory.during(frame, caller, () => this.#reply(incoming, caller));
    } catch (error) {
      return this.#fault(incoming.kind === "request" ? incoming.id : null, faultOf(error));
    }
  }

  #batch(items: readonly Json[], caller: Caller): MaybeReply | Promise<MaybeReply> {
    const { dialect, limits } = this.#core.settings;
    const session = this.#session;
    try {
      if (session === undefined && !this.#modern && dialect.batches === "all")
        throw new Fault("NOT_INITIALIZED", "Send initialize first, outside of batches: nothing may precede its reply.");
      return this.#all(readBatch(items, session?.revision ?? LATEST_MODERN, dialect, limits.batch), caller);
    } catch (error) {
      return this.#fault(null, faultOf(error), "legacy");
    }
  }

  async #all(batch: readonly Incoming[], caller: Caller): Promise<MaybeReply> {
    const texts = await answersTo(batch, this.#core.settings.dialect, (one) => this.#one(one, caller));
    const replies = texts.filter((text) => text !== undefined);
    return replies.length > 0 ? `[${replies.join(",")}]` : undefined;
  }

  #one(incoming: Incoming, caller: Caller): MaybeReply | Promise<MaybeReply> {
    if (incoming.kind === "request") return this.#request(incoming, caller);
    if (incoming.kind === "malformed") return this.#fault(incoming.id, incoming.fault);
    if (incoming.kind === "notification") this.#notification(incoming);
    else this.#session?.clientRequests.settle(incoming);
    return undefined;
  }

  #notification(notification: Notification): void {
    const session = this.#session;
    if (session === undefined) {
      const { requestId: id } = notification.params;
      if (notification.method !== "notifications/cancelled" || (typeof id !== "string" && typeof id !== "number")) return;
      return this.#active.get(id)?.cancel();
    }
    if (notification.method === "notifications/initialized" && !session.ready && !this.#closed) {
      session.ready = true;
      // Notifications depend on the token that opened the stream; that of a message may expire long before.
      session.started = session.listen(this.#channel, this.#caller).catch((error: unknown) => {
        this.#core.settings.log("error", { event: "listen-failed", ...inLog(error) });
      });
    }
    session.handleNotification(notification);
  }

  #request(request: Request, caller: Caller): MaybeReply | Promise<MaybeReply> {
    if (this.#session !== undefined) return this.#legacy(this.#session, request, caller);
    if (this.#modern || request.method === "server/discover" || isModernParams(request.params)) return this.#enveloped(request, caller);
    if (request.method === "initialize") return this.#initialize(request, caller);
    if (request.method === "ping") return wholeText(legacyReply(request.id, { members: "" }));
    return this.#fault(
      request.id,
      new Fault(
        "NOT_INITIALIZED",
        `Send initialize first, or say _meta["io.modelcontextprotocol/protocolVersion"] (${MODERN_REVISIONS.join(", ")}) with every request.`,
      ),
      "legacy",
    );
  }

  // Synchronous: no other message can come between initialize and its reply (C8).
  #initialize(request: Request, caller: Caller): string {
    try {
      return observeBegin(this.#core, request, caller, () => this.#begin(request, caller));
    } catch (error) {
      return this.#fault(request.id, requestFault(this.#core, request.method, error), "legacy");
    }
  }

  #begin(request: Request, caller: Caller): string {
    const { settings, work } = this.#core;
    this.#core.admit();
    this.#core.limit(caller);
    const row = newSession(this.#core, request, caller, undefined);
    const notices = new SessionNotices(settings.source, settings);
    const session = new Session(row, settings, notices, { ready: false, stored: false, closing: work.closing });
    this.#session = session;
    const offered = offeredTo(settings, session.source, session.viewerFor(caller));
    const unknown = offered instanceof Promise;
    // Not awaited, so the rejection is swallowed here.
    if (unknown) offered.catch(() => undefined);
    const members = initializeMembers(settings, session.revision, unknown ? WITH_TASKS : offered);
    return wholeText(legacyReply(request.id, { members }));
  }

  #legacy(session: Session, request: Request, caller: Caller): MaybeReply | Promise<MaybeReply> {
    // The caller is nearly always the last one, and an object for each request would take longer than the comparison.
    if (this.#origin?.caller !== caller) this.#origin = { caller, channel: this.#outOfBand, idempotencyKey: undefined, ordered: true };
    return andThen(new SessionRequest(this.#core, session, request, this.#origin).answer(), legacyText, this.#core, request);
  }

  #enveloped(request: Request, caller: Caller): MaybeReply | Promise<MaybeReply> {
    const { settings } = this.#core;
    const { id } = request;
    if (this.#active.get(id) !== undefined)
      return this.#fault(id, new Fault("ID_IN_USE", "A request with this id is still running."), "modern");
    if (this.#active.size >= settings.limits.inFlight)
      return this.#fault(id, new Fault("BUSY", "Too many requests of this connection run at once."), "modern");
    const active = new StreamRequest(this.#core, request, { caller, source: settings.source, channel: this.#outOfBand });
    this.#active.add(active);
    try {
      const reply = active.listens ? this.#listen(request, caller, active) : active.perform();
      return andThenElse(reply, this.#replied, this.#failed, active);
    } catch (error) {
      return this.#failed(error, active);
    }
  }

  // C8: on one stream the notification comes before the reply to the call that caused it.
  readonly #replied = (reply: ModernReply, active: StreamRequest): MaybeReply | Promise<MaybeReply> => {
    if (active.listens) return undefined;
    if (active.request.method !== "server/discover") this.#modern = true;
    return this.#active.some(hasNotices) ? this.#afterNotices(reply, active) : this.#ended(reply, active);
  };

  readonly #failed = (error: unknown, active: StreamRequest): string => {
    const { request } = active;
    this.#active.delete(active);
    return this.#fault(request.id, requestFault(this.#core, request.method, error), "modern");
  };

  #ended(reply: ModernReply, active: StreamRequest): MaybeReply {
    this.#active.delete(active);
    if (reply === undefined || active.aborted) return undefined;
    try {
      return wholeText(reply);
    } catch (error) {
      return this.#failed(error, active);
    }
  }

  async #afterNotices(reply: ModernReply, active: StreamRequest): Promise<MaybeReply> {
    for (const one of this.#active.all()) if (hasNotices(one)) await one.listen?.subscriptions.settle();
    return this.#ended(reply, active);
  }

  async #listen(request: Request, caller: Caller, active: StreamRequest): Promise<undefined> {
    openRequest(this.#core, request, undefined);
    const { listensPerConnection: most } = this.#core.settings.limits;
    if (this.#active.all().filter((one) => one.listens).length > most)
      throw new Fault("BUSY", `A connection may have ${most} listen requests; cancel one first.`);
    const made = await listen(this.#core, {
      request,
      caller: this.#lasting(caller),
      source: this.#core.settings.source,
      open: () => this.#channel,
      ended: () => this.#active.delete(active),
    });
    this.#modern = true;
    active.listen = made;
    if (active.aborted || this.#closed) made.cancel();
  }

  /** With no scope that the connection's own caller lacks, and its claims: the token of one message may expire before the stream ends. */
  #lasting(caller: Caller): Caller {
    if (caller === this.#caller) return caller;
    const { scopes, claims } = this.#caller;
    const { claims: _, ...rest } = caller;
    return { ...rest, scopes: rest.scopes.filter((scope) => scopes.includes(scope)), ...(claims === undefined ? {} : { claims }) };
  }
}

const hasNotices = ({ listen: listening }: StreamRequest): boolean => listening?.subscriptions.pending === true;

const legacyText = (answered: Answered, core: Core, request: Request): MaybeReply =>
  answered && wholeText(answeredText(core, request, answered));

/** What precedes a reply goes out on the one stream there is. */
class ConnectionChannel implements SessionChannel {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  notify(method: string, params: JsonObject): void {
    if (this.#channel.ready) this.#channel.send(notificationText(method, params));
  }

  ask(message: JsonObject): void {
    this.#channel.send(JSON.stringify(message));
  }
}
