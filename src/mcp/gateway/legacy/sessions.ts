// Owns: which HTTP sessions are in memory, whose they are, and when they expire. Does not own: what one session does (session.ts).
import type { Caller, SessionRow, Source } from "../../../core/contract/index.ts";
import { isLocal, MultiMap, peerOf, settledNow } from "../../../core/contract/internal.ts";
import { inLog } from "../errors.ts";
import type { Core } from "../core.ts";
import { Nodes } from "./nodes.ts";
import { soon } from "../../../core/platform/index.ts";
import { SessionNotices } from "./session-notices.ts";
import { Session } from "./session.ts";

/** Sessions whose streams are deleted in one round of the event loop. */
const AT_ONCE = 64;

/** Sessions of clients that come back: rows in the store, and the live ones in memory. */
export class Sessions {
  readonly #core: Core;
  readonly #sourceFor: (posture: string | undefined) => Source;
  readonly #notices = new Map<Source, SessionNotices>();
  readonly #live = new Map<string, Session>();
  readonly #callers: CallerSessions;
  readonly #nodes: Nodes | undefined;
  #undoSweep: (() => void) | undefined;

  constructor(core: Core, sourceFor: (posture: string | undefined) => Source) {
    this.#core = core;
    this.#sourceFor = sourceFor;
    const { settings } = core;
    this.#callers = new CallerSessions(settings.limits.sessionsPerCaller);
    this.#nodes = settings.peers === undefined ? undefined : new Nodes(settings.peers, settings, this);
    this.#sweepLater();
  }

  /** How many are in memory. */
  get size(): number {
    return this.#live.size;
  }

  /** Those in memory. */
  all(): Iterable<Session> {
    return this.#live.values();
  }

  live(id: string): Session | undefined {
    return this.#live.get(id);
  }

  async add(row: SessionRow, caller: Caller): Promise<Session> {
    const { sessions, log } = this.#core.settings;
    await sessions.put(row);
    const session = this.#keep(this.#revive(row, false), caller);
    const left = this.#callers.tooMany(session);
    if (left !== undefined) {
      log("info", { event: "session-ended", reason: "sessionsPerCaller" });
      await this.end(left);
    }
    return session;
  }

  /**
   * The caller's session of that id. Undefined for whoever it does not belong to
   * and wherever else it was opened, so that a stolen id finds nothing.
   */
  find(id: string, caller: Caller, posture: "meta" | undefined): Session | undefined | Promise<Session | undefined> {
    const live = this.#live.get(id);
    if (live === undefined) return this.#rehydrate(id, caller, posture);
    if (!belongs(live.row, caller, posture)) return undefined;
    if (!live.stale && !this.#core.settings.unreached && this.#seen(live)) return live;
    return this.#nodes === undefined ? undefined : this.#reread(live, this.#nodes);
  }

  async end(session: Session): Promise<void> {
    this.drop(session);
    const { sessions, streams } = this.#core.settings;
    await sessions.delete(session.row.id);
    this.#nodes?.rows.tell(session.row.id);
    await streams.delete(session.row.id);
  }

  close(): void {
    this.#undoSweep?.();
    this.#core.delivered.close();
    this.#nodes?.close();
    for (const session of this.#live.values()) session.close();
    this.#live.clear();
  }

  // A process that never saw the id serves it all the same: the row is the session.
  async #rehydrate(id: string, caller: Caller, posture: "meta" | undefined): Promise<Session | undefined> {
    if (!/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
    const { settings } = this.#core;
    // Looking for a session that is not here costs the store a read: guessing is bounded like calling.
    this.#core.limit(caller);
    const heard = this.#nodes?.rows.heard;
    const row = await settings.sessions.get(id);
    if (row === undefined || row.seenAt < this.#storedBefore() || !belongs(row, caller, posture)) return undefined;
    const other = this.#live.get(id);
    if (other !== undefined) return other;
    const session = this.#keep(this.#revive(row, true), caller);
    session.stale = this.#nodes?.rows.heard !== heard;
    // Its client may go on to another node at once, and the row has to say that it was here.
    this.#seen(session);
    return session;
  }

  // Other nodes may have ended, changed or seen it since.
  async #reread(session: Session, { rows }: Nodes): Promise<Session | undefined> {
    await rows.reread(session);
    return !session.closed && this.#seen(session) ? session : undefined;
  }

  #revive(row: SessionRow, ready: boolean): Session {
    const { settings, work } = this.#core;
    const how = { ready, kept: true, closing: work.closing, ...(this.#nodes === undefined ? undefined : { nodes: this.#nodes }) };
    return new Session(row, settings, this.#noticesOf(this.#sourceFor(row.posture)), how);
  }

  #noticesOf(source: Source): SessionNotices {
    let notices = this.#notices.get(source);
    if (notices === undefined) this.#notices.set(source, (notices = new SessionNotices(source, this.#core.settings)));
    return notices;
  }

  #keep(session: Session, caller: Caller): Session {
    this.#live.set(session.row.id, session);
    this.#callers.add(session, caller);
    if (this.#live.size > this.#core.settings.limits.liveSessions) {
      for (const old of this.#live.values()) {
        if (old.busy || old === session) continue;
        this.drop(old);
        break;
      }
    }
    return session;
  }

  drop(session: Session): void {
    this.#live.delete(session.row.id);
    this.#callers.remove(session);
    for (const running of session.running.all()) running.abort();
    session.close();
  }

  // Rows are touched at most every ttl/10; a row another process deleted is noticed then. False: its time is over.
  #seen(session: Session): boolean {
    const { clock, sessions, sessionTtlMs, log } = this.#core.settings;
    const now = clock.now();
    const { seenAt, id } = session.row;
    if (now - seenAt >= sessionTtlMs / 10) {
      if (this.#over(session)) return false;
      session.row = { ...session.row, seenAt: now };
      this.#live.delete(id);
      this.#live.set(id, session);
      const touched = sessions.get(id).then((row) => (row === undefined ? this.drop(session) : sessions.touch(id, now)));
      touched.catch((error: unknown) => log("error", { event: "session-touch-failed", ...inLog(error) }));
    }
    session.seenAt = now;
    return true;
  }

  // Of a client that goes to other nodes too, only the row knows.
  #over({ busy, seenAt, row }: Session): boolean {
    const { clock, sessionTtlMs } = this.#core.settings;
    if (busy || seenAt >= settledNow(clock) - sessionTtlMs) return false;
    return this.#nodes === undefined || row.seenAt < this.#storedBefore();
  }

  // What is stored may be a tenth older than what is true: a session ends that much later rather than too early.
  #storedBefore(): number {
    const { clock, sessionTtlMs } = this.#core.settings;
    return settledNow(clock) - sessionTtlMs - sessionTtlMs / 10;
  }

  #sweepLater(): void {
    const { clock, sessionTtlMs } = this.#core.settings;
    this.#undoSweep = clock.after(Math.max(1_000, sessionTtlMs / 10), () => {
      this.#sweep()
        .catch((error: unknown) => this.#core.settings.log("error", { event: "session-sweep-failed", ...inLog(error) }))
        .finally(() => {
          if (!this.#core.work.closed) this.#sweepLater();
        });
    });
  }

  async #sweep(): Promise<void> {
    const { sessions, streams, unreached } = this.#core.settings;
    for (const session of this.#live.values()) {
      if (unreached) session.stale = true;
      if (session.busy) this.#seen(session);
      // Another node may have seen it since, or be the one that deletes it: here it is held for nobody.
      else if (this.#nodes !== undefined && this.#over(session)) this.drop(session);
      if (session.stale && session.busy) this.#nodes?.rows.rereadSoon(session);
    }
    const gone = await sessions.expire(this.#storedBefore());
    for (const id of gone) {
      const live = this.#live.get(id);
      if (live !== undefined) this.drop(live);
    }
    for (const [at, id] of gone.entries()) {
      // A store that answers at once would let nobody else be served until all are gone.
      if (at % AT_ONCE === AT_ONCE - 1) await new Promise<void>(soon);
      await streams.delete(id);
    }
  }
}

function belongs(row: SessionRow, caller: Caller, posture: "meta" | undefined): boolean {
  return row.principal === caller.principal && row.posture === posture;
}

/** The sessions in memory by whose they are. Who calls from this machine without a principal is everybody there, and has no bound. */
class CallerSessions {
  readonly #most: number;
  readonly #callers = new MultiMap<string, Session>();

  constructor(most: number) {
    this.#most = most;
  }

  add(session: Session, { principal, peer }: Caller): void {
    if (principal === undefined && (peer === undefined || isLocal(peer))) return;
    session.countedFor = principal ?? `peer ${peerOf(peer)}`;
    this.#callers.put(session.countedFor, session);
  }

  remove(session: Session): void {
    if (session.countedFor !== undefined) this.#callers.take(session.countedFor, session);
  }

  /** Where its caller has too many: the one that has been left alone for the longest time. */
  tooMany(session: Session): Session | undefined {
    const { countedFor } = session;
    const own = countedFor === undefined ? undefined : this.#callers.get(countedFor);
    if (own === undefined || own.size <= this.#most) return undefined;
    let idle: Session | undefined;
    for (const one of own) if (one !== session && !one.busy && one.seenAt < (idle?.seenAt ?? Infinity)) idle = one;
    return idle;
  }
}
