// Owns: what the nodes that serve the same sessions send each other, and the rows they share. Does not own: replies that run at another node
// (remote-replies.ts).
import {
  type JsonObject,
  isJsonObject,
  type Json,
  type Peers,
  changedSession,
  Queues,
  type SessionChange,
  type SessionRow,
} from "../../../core/contract/index.ts";
import type { Entry, Lists } from "../../source/index.ts";
import { inLog } from "../errors.ts";
import { objectIn, shortText, classify, type Notification, type Response } from "../json-rpc.ts";
import type { Settings } from "../options.ts";
import { Throttle } from "../time-slices.ts";
import { fingerprintOf } from "../client-notifications.ts";
import { RemoteReplies, FOLLOW, REPLY, nodeIn } from "./remote-replies.ts";
import type { Session } from "./session.ts";

// The truth about a session is in the two stores; nodes only send each other hints to read them, and requests. A node that sends the id of a
// session has found it for its own principal.
const TOPIC = {
  /** Hint: the row has changed or was deleted. */
  row: "session/row",
  /** Hint or request: a message of the client for what runs at another node. */
  message: "session/message",
  /** Hint: the client was sent a list. */
  list: "session/shown",
  /** Request: another node has the standalone stream now; release it. */
  listen: "session/listen",
} as const;

/** Nodes that join and leave cause many gaps at once. */
const GAP_MS = 1_000;
/** Delays before each attempt to pass on a response: the node may have been busy. */
const AGAIN_MS = [0, 100, 300];

/** The sessions in this node's memory. */
interface LiveSessions {
  all(): Iterable<Session>;
  live(id: string): Session | undefined;
  drop(session: Session): void;
}

/** What one node does for sessions that several nodes serve. */
export class Nodes {
  readonly rows: SharedRows;
  readonly replies: RemoteReplies;
  readonly #peers: Peers;
  readonly #settings: Settings;
  readonly #gaps: Throttle;
  readonly #undo: readonly (() => void)[];

  constructor(peers: Peers, settings: Settings, sessions: LiveSessions) {
    this.#peers = peers;
    this.#settings = settings;
    this.replies = new RemoteReplies(peers, settings);
    this.#gaps = new Throttle(settings.clock, GAP_MS, () => {
      this.rows.doubtAll();
      this.replies.check();
    });
    this.rows = new SharedRows(settings, sessions, (session) => peers.tell(TOPIC.row, { session }));
    const on = (
      topic: string,
      handle: (session: Session, message: JsonObject, from: string) => Json | undefined | Promise<Json | undefined>,
    ) =>
      peers.on(topic, (message, from) => {
        if (!isJsonObject(message)) return undefined;
        const session = sessions.live(shortText(message["session"], 128) ?? "");
        return session === undefined ? false : handle(session, message, from);
      });
    this.#undo = [
      peers.on(TOPIC.row, (message) => {
        this.rows.changed(isJsonObject(message) ? shortText(message["session"], 128) : undefined);
        return undefined;
      }),
      on(TOPIC.message, (session, message) => deliver(session, objectIn(message, "message"))),
      on(TOPIC.list, (session, message) => {
        session.recordListElsewhere(message["list"], shortText(message["as"], 64) ?? "");
        return undefined;
      }),
      on(TOPIC.listen, (session) => {
        session.releaseStream();
        return false;
      }),
      on(FOLLOW, (session, message, from) => this.replies.sendTo(session, shortText(message["stream"], 128) ?? "", from)),
      peers.on(REPLY, (message) => this.replies.look(message)),
      peers.onGap(() => this.#gaps.request()),
    ];
  }

  get self(): string {
    return this.#peers.self;
  }

  /** Passes a response on to the node that sent the request. Settles when that node has it, or cannot be reached. */
  async passResponse(session: Session, response: Response): Promise<void> {
    const node = nodeIn(String(response.id));
    if (node === undefined || node === this.self) return;
    const message = { session: session.row.id, message: { jsonrpc: "2.0", id: response.id, ...this.#bounded(response) } };
    for (const waitMs of AGAIN_MS) {
      if (waitMs > 0) await new Promise<void>((resolve) => this.#settings.clock.after(waitMs, resolve));
      if ((await this.#peers.ask(node, TOPIC.message, message)) !== undefined) return;
    }
  }

  /** Passes on the cancellation of a request that does not run here. */
  passNotification(session: Session, { method, params }: Notification): void {
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#peers.tell(TOPIC.message, { session: session.row.id, message: { jsonrpc: "2.0", method, params: { requestId } } });
  }

  /** The client was sent a list by this node. */
  notifyListSent(session: Session, list: keyof Lists, entries: readonly Entry[]): void {
    this.#peers.tell(TOPIC.list, { session: session.row.id, list, as: fingerprintOf(entries) });
  }

  /** Makes this the node of the standalone stream. */
  async claim(session: Session): Promise<void> {
    await this.rows.reread(session);
    const { id, listener } = session.row;
    if (session.closed || listener === this.self) return;
    // Not awaited: the client may have come here because that node has failed.
    if (listener !== undefined) void this.#peers.ask(listener, TOPIC.listen, { session: id });
    await this.rows.change(session, { listener: this.self });
  }

  close(): void {
    for (const undo of this.#undo) undo();
    this.#gaps.stop();
    this.replies.close();
  }

  // The other node would refuse an answer that is too long, so it is not sent.
  #bounded({ result, error }: Response): JsonObject {
    const { answerLength } = this.#settings.limits;
    if (JSON.stringify(result ?? error).length > answerLength)
      return { error: { message: `its answer is longer than ${answerLength} characters` } };
    return result === undefined ? { error: error ?? null } : { result };
  }
}

function deliver(session: Session, message: JsonObject | undefined): boolean {
  const incoming = classify(message ?? null);
  if (incoming.kind === "response") return session.clientRequests.settle(incoming);
  return incoming.kind === "notification" && session.handleNotification(incoming);
}

// A gap makes all rows uncertain at once, and the store has other work to do.
const READ_AT_ONCE = 8;

/** Keeps the rows in memory up to date with the store, since other nodes write them too. */
export class SharedRows {
  readonly #settings: Settings;
  readonly #sessions: LiveSessions;
  readonly #notify: (session: string) => void;
  readonly #waiting = new Set<Session>();
  /** Reads and writes of a row run one after the other, so that the row in memory is the one read or written last. */
  readonly #queues = new Queues<Session>();
  #reading = 0;
  /** Counts the hints received, so that a row that was read meanwhile is known to be uncertain. */
  hints = 0;

  constructor(settings: Settings, sessions: LiveSessions, notify: (session: string) => void) {
    this.#settings = settings;
    this.#sessions = sessions;
    this.#notify = notify;
  }

  /** Notifies the other nodes that the row has changed or was deleted. */
  notify(session: string): void {
    this.#notify(session);
  }

  /** Another node has changed that row. A session that is not in use reads it when it is used next. */
  changed(id: string | undefined): void {
    this.hints += 1;
    const session = id === undefined ? undefined : this.#sessions.live(id);
    if (session === undefined) return;
    session.stale = true;
    if (session.busy) this.rereadSoon(session);
  }

  /** Hints of any session may have been lost. */
  doubtAll(): void {
    this.hints += 1;
    for (const session of this.#sessions.all()) {
      session.markUncertain();
      if (session.busy) this.rereadSoon(session);
    }
  }

  /** Reads a stale row again; a few are read at a time. */
  rereadSoon(session: Session): void {
    this.#waiting.add(session);
    if (this.#reading < READ_AT_ONCE) void this.#readWaiting();
  }

  /** Adopts the row as it is stored; without one the session ends here too. */
  reread(session: Session): Promise<void> {
    return this.#queues.run(session, async () => {
      // Before the read: a hint that comes meanwhile makes it stale again.
      session.stale = false;
      try {
        await this.#adopt(session, await this.#settings.sessions.get(session.row.id));
      } catch (error) {
        session.stale = true;
        throw error;
      }
    });
  }

  async change(session: Session, change: SessionChange): Promise<void> {
    if (session.closed) return;
    try {
      await this.#queues.run(session, async () => this.#adopt(session, await this.#write(session.row.id, change)));
    } finally {
      // Also after a failure: it may have been written all the same.
      this.#notify(session.row.id);
    }
  }

  async #write(id: string, change: SessionChange): Promise<SessionRow | undefined> {
    const { sessions } = this.#settings;
    if (sessions.change !== undefined) return sessions.change(id, change);
    const row = await sessions.get(id);
    if (row === undefined) return undefined;
    const changed = changedSession(row, change);
    if (changed !== row) await sessions.put(changed);
    return changed;
  }

  async #adopt(session: Session, row: SessionRow | undefined): Promise<void> {
    if (row !== undefined) return session.adopt(row);
    const ran = session.busy;
    this.#sessions.drop(session);
    // Requests that still ran may have stored messages after the streams were deleted.
    if (ran) await this.#settings.streams.delete(session.row.id);
  }

  async #readWaiting(): Promise<void> {
    this.#reading += 1;
    for (const session of this.#waiting) {
      this.#waiting.delete(session);
      if (!session.stale || session.closed) continue;
      try {
        await this.reread(session);
      } catch (error) {
        this.#settings.log("error", { event: "session-reread-failed", ...inLog(error) });
      }
    }
    this.#reading -= 1;
  }
}
