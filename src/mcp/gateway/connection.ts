import type { Bag, Caller, Channel, Connection, Json } from "../../core/contract/index.ts";
import { isLarge } from "../../core/contract/internal.ts";
import type { Core } from "./core.ts";
import { Fault, faultOf, inLog } from "./errors.ts";
import {
  type Batch,
  classify,
  decode,
  errorText,
  type Incoming,
  isWaitedFor,
  type Notification,
  notificationText,
  type Request,
  type RequestId,
} from "./json-rpc.ts";
import { initializeMembers, newSession } from "./legacy/initialize.ts";
import { type Answered, answeredText, type LegacyAside, noticed, performLegacy } from "./legacy/perform.ts";
import { SessionNotices } from "./legacy/session-notices.ts";
import { Session } from "./legacy/session.ts";
import { EVERYTHING, offeredTo } from "./offered.ts";
import { batchesIn } from "./profile.ts";
import { isModernParams } from "./modern/envelope.ts";
import { listen, type Listen } from "./modern/listen.ts";
import { openRequest, performModern } from "./modern/perform.ts";
import { observedBegin } from "./observed.ts";
import { legacyReply, type ReplyText, wholeText } from "./reply.ts";
import { requestFault } from "./fault-answers.ts";
import { type Era, MODERN_REVISIONS } from "./revision.ts";
import { InFlight, Running } from "./running.ts";
import { Work } from "./work.ts";

/** A modern request of this connection that runs or listens. */
class Open extends Running {
  readonly listens: boolean;
  listen: Listen | undefined;

  constructor(id: RequestId, listens: boolean) {
    super(id);
    this.listens = listens;
  }
}

/**
 * A client on one ordered stream. What it says first decides the era: initialize
 * makes the connection one legacy session, an enveloped request makes it modern.
 */
export class StreamConnection implements Connection {
  readonly #core: Core;
  readonly #channel: Channel;
  readonly #aside: LegacyAside;
  readonly #caller: Caller;
  readonly #work = new Work();
  readonly #open = new InFlight<Open>();
  #session: Session | undefined;
  #modern = false;
  #closed = false;

  constructor(core: Core, channel: Channel, caller: Caller) {
    this.#core = core;
    this.#channel = channel;
    this.#aside = new Ahead(channel);
    this.#caller = caller;
    channel.gone.addEventListener("abort", this.#abandon, { once: true });
    core.connections.add(this.#abandon);
  }

  receive(frame: Uint8Array | string, caller: Caller = this.#caller): void {
    if (frame.length === 0 || this.#channel.gone.aborted) return;
    const incoming = decode(frame, this.#core.settings.limits);
    const reply = isLarge(frame) ? this.#heavy(frame, incoming, caller) : this.#reply(incoming, caller);
    // What is known at once is sent at once: nothing that came later can overtake it.
    if (reply instanceof Promise) this.#sendLater(reply);
    else this.#send(reply);
  }

  #sendLater(reply: Promise<string | undefined>): void {
    this.#run(() => reply.then((text) => this.#send(text)));
  }

  async close(graceMs?: number): Promise<void> {
    this.#closed = true;
    this.#session?.requests.close();
    // Answers that are due still come. Nothing else does: the token may have expired.
    this.#session?.told?.stop();
    for (const { listen: listening } of this.#open.all()) listening?.cancel();
    if (graceMs !== undefined && !(await this.#work.idle(this.#core.settings.clock, graceMs))) {
      for (const request of [...this.#open.all(), ...(this.#session?.running.all() ?? [])]) this.#core.unfinished.refuse(request);
    }
    await this.#work.quiet();
    this.#end();
  }

  // A client that is gone reads no reply; what a modern one asked for is not begun any more.
  readonly #abandon = (): void => {
    this.#session?.requests.close();
    for (const open of this.#open.all()) {
      open.abort();
      open.listen?.cancel();
    }
    this.#end();
  };

  #end(): void {
    this.#core.connections.delete(this.#abandon);
    this.#channel.gone.removeEventListener("abort", this.#abandon);
    if (this.#session === undefined) return;
    this.#session.standalone = undefined;
    this.#session.close();
  }

  #run(job: () => Promise<void>): void {
    const failed = (error: unknown): void => this.#core.settings.log("error", { event: "connection-failed", ...inLog(error) });
    void this.#work.during(() => this.#core.work.during(() => job().catch(failed)));
  }

  #send(text: string | undefined): void {
    if (text !== undefined) this.#channel.send(text);
  }

  #reply(incoming: Incoming | Batch, caller: Caller): Promise<string | undefined> | string | undefined {
    return incoming.kind === "batch" ? this.#batch(incoming.items, caller) : this.#one(incoming, caller);
  }

  /** The same of a message that takes room for as long as it is worked on. */
  #heavy(frame: Uint8Array | string, incoming: Incoming | Batch, caller: Caller): Promise<string | undefined> | string | undefined {
    if (!isWaitedFor(incoming)) return this.#reply(incoming, caller);
    try {
      return this.#core.held.during(frame, caller, () => this.#reply(incoming, caller));
    } catch (error) {
      return this.#fault(incoming.kind === "request" ? incoming.id : null, faultOf(error), this.#modern ? "modern" : "legacy");
    }
  }

  #batch(items: readonly Json[], caller: Caller): Promise<string | undefined> | string {
    const session = this.#session;
    const { batch: most } = this.#core.settings.limits;
    if (session === undefined || !batchesIn(this.#core.settings.profile, session.revision))
      return this.#fault(null, new Fault("INVALID_REQUEST", "Batches are part of 2025-03-26 only; send messages one by one."), "legacy");
    if (items.length === 0 || items.length > most)
      return this.#fault(null, new Fault("INVALID_REQUEST", `A batch has 1 to ${most} messages.`), "legacy");
    return this.#answers(items, caller);
  }

  async #answers(items: readonly Json[], caller: Caller): Promise<string | undefined> {
    const texts = await Promise.all(items.map(async (item) => this.#one(classify(item), caller)));
    const replies = texts.filter((text) => text !== undefined);
    return replies.length > 0 ? `[${replies.join(",")}]` : undefined;
  }

  #fault(id: RequestId | null, fault: Fault, era: Era): string {
    return errorText(id, fault, era, this.#core.settings.profile.faults);
  }

  /** The reply to one message, if it has one. */
  #one(incoming: Incoming, caller: Caller): Promise<string | undefined> | string | undefined {
    if (incoming.kind === "request") return this.#request(incoming, caller);
    if (incoming.kind === "malformed") return this.#fault(incoming.id, incoming.fault, this.#modern ? "modern" : "legacy");
    if (incoming.kind === "notification") this.#notification(incoming);
    else this.#session?.requests.answered(incoming);
    return undefined;
  }

  #notification(notification: Notification): void {
    const session = this.#session;
    if (session === undefined) {
      if (notification.method === "notifications/cancelled") this.#cancel(notification.params["requestId"]);
      return;
    }
    if (notification.method === "notifications/initialized" && !session.ready && !this.#closed) {
      session.ready = true;
      // What comes unasked is decided by the token that opened the stream: the one of a POST may be over long before.
      session.started = session.listen(this.#channel, this.#caller).catch((error: unknown) => {
        this.#core.settings.log("error", { event: "listen-failed", ...inLog(error) });
      });
    }
    noticed(session, notification);
  }

  #cancel(id: Json | undefined): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    const open = this.#open.get(id);
    open?.abort();
    open?.listen?.cancel();
  }

  #request(request: Request, caller: Caller): Promise<string | undefined> | string | undefined {
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

  // Nothing waits in here: no other message can come between initialize and its reply (C8).
  #initialize(request: Request, caller: Caller): string {
    try {
      return observedBegin(this.#core, request, caller, () => this.#begin(request, caller));
    } catch (error) {
      return this.#fault(request.id, requestFault(this.#core, request.method, error), "legacy");
    }
  }

  #begin(request: Request, caller: Caller): string {
    this.#core.admit();
    this.#core.limit(caller);
    const { settings } = this.#core;
    const row = newSession(this.#core, request, caller, undefined);
    const session = new Session(row, settings, new SessionNotices(settings.source, settings), {
      ready: false,
      kept: false,
      closing: this.#core.work.closing,
    });
    this.#session = session;
    const found = offeredTo(settings, session.source, session.viewerFor(caller));
    const late = found instanceof Promise;
    // Who is not waited for has nobody to fail to.
    if (late) found.catch(() => undefined);
    const members = initializeMembers(this.#core, session.revision, late ? EVERYTHING : found);
    return wholeText(legacyReply(request.id, { members }));
  }

  #legacy(session: Session, request: Request, caller: Caller): Promise<string | undefined> | string | undefined {
    const answered = performLegacy(this.#core, session, request, { caller, aside: this.#aside, idempotencyKey: undefined, ordered: true });
    return answered instanceof Promise ? this.#legacyLater(request, answered) : this.#legacyText(request, answered);
  }

  async #legacyLater(request: Request, answered: Promise<Answered>): Promise<string | undefined> {
    return this.#legacyText(request, await answered);
  }

  #legacyText(request: Request, answered: Answered): string | undefined {
    if (answered === undefined) return undefined;
    const made = answeredText(this.#core, request, answered);
    return typeof made === "string" ? made : wholeText(made);
  }

  #enveloped(request: Request, caller: Caller): Promise<string | undefined> | string | undefined {
    const { id } = request;
    const { inFlight } = this.#core.settings.limits;
    if (this.#open.get(id) !== undefined)
      return this.#fault(id, new Fault("ID_IN_USE", "A request with this id is still running."), "modern");
    if (this.#open.size >= inFlight)
      return this.#fault(id, new Fault("BUSY", "Too many requests of this connection run at once."), "modern");
    const open = new Open(id, request.method === "subscriptions/listen");
    this.#open.add(open);
    const failed = (error: unknown): string => {
      this.#open.delete(open);
      return this.#fault(id, requestFault(this.#core, request.method, error), "modern");
    };
    const ended = (reply: ReplyText | undefined): string | undefined => {
      this.#open.delete(open);
      return reply === undefined || open.aborted ? undefined : wholeText(reply);
    };
    const told = (reply: ReplyText | undefined): Promise<string | undefined> | string | undefined => {
      if (request.method !== "server/discover") this.#modern = true;
      return this.#unsettled ? this.#settle().then(() => ended(reply)) : ended(reply);
    };
    try {
      if (open.listens) return this.#listen(request, caller, open).then(() => undefined, failed);
      const { source } = this.#core.settings;
      const reply = performModern(this.#core, request, { caller, source, aside: this.#aside, signal: open });
      return reply instanceof Promise ? reply.then(told).catch(failed) : told(reply);
    } catch (error) {
      return failed(error);
    }
  }

  get #unsettled(): boolean {
    return this.#open.some(({ listen: listening }) => listening?.audience.pending === true);
  }

  // C8: on one stream the notification comes before the reply of the call that caused it.
  async #settle(): Promise<void> {
    for (const { listen: listening } of this.#open.all()) if (listening?.audience.pending === true) await listening.audience.settle();
  }

  /** As who a request listens on: the token that it came with may be over before the stream. */
  #lasting(caller: Caller): Caller {
    const { scopes } = this.#caller;
    return caller === this.#caller ? caller : { ...caller, scopes: caller.scopes.filter((scope) => scopes.includes(scope)) };
  }

  async #listen(request: Request, caller: Caller, open: Open): Promise<void> {
    openRequest(this.#core, request, undefined);
    const { listensPerConnection: most } = this.#core.settings.limits;
    if (this.#open.all().filter((one) => one.listens).length > most)
      throw new Fault("BUSY", `A connection may have ${most} listen requests; cancel one first.`);
    const made = await listen(this.#core, {
      request,
      caller: this.#lasting(caller),
      source: this.#core.settings.source,
      open: () => this.#channel,
      ended: () => this.#open.delete(open),
    });
    this.#modern = true;
    open.listen = made;
    if (open.aborted || this.#closed) made.cancel();
  }
}

/** What precedes a reply on the one stream there is. */
class Ahead implements LegacyAside {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  tell(method: string, params: Bag): void {
    if (this.#channel.ready) this.#channel.send(notificationText(method, params));
  }

  ask(message: Bag): void {
    this.#channel.send(JSON.stringify(message));
  }
}
