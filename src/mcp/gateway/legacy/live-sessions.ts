// Owns: which HTTP sessions are in memory, to whom they belong, and when they expire. Does not own: what one session does (session.ts).
import type { Caller, SessionReport, SessionRow, Source } from "../../../core/contract/index.ts";
import { isLocal, MultiMap, peerOf, settledNow } from "../../../core/contract/internal.ts";
import { soon } from "../../../core/platform/index.ts";
import type { Core } from "../core.ts";
import { inLog } from "../errors.ts";
import { Nodes } from "./nodes.ts";
import { SessionNotices, Session } from "./session.ts";

/** Sessions whose streams are deleted in one round of the event loop. */
const AT_ONCE = 64;

/** The sessions over HTTP: rows in the store, and the live ones in memory. */
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

  /** The number in memory. */
  get size(): number {
    return this.#live.size;
  }

  /** The sessions in memory. */
  all(): Iterable<Session> {
    return this.#live.values();
  }

  /** For operators. */
  *reports(): Generator<SessionReport> {
    for (const session of this.#live.values()) yield session.report();
  }

  live(id: string): Session | undefined {
    return this.#live.get(id);
  }

  async add(row: SessionRow, caller: Caller): Promise<Session> {
    const { sessions, log } = this.#core.settings;
    await sessions.put(row);
    const session = this.#keep(this.#revive(row, false), caller);
    const excess = this.#callers.excess(session);
    if (excess !== undefined) {
      log("info", { event: "session-ended", reason: "sessionsPerCaller" });
      await this.end(excess);
    }
    return session;
  }

  /**
   * The caller's session with that id. Undefined if it belongs to another principal or was opened under another posture, so that a stolen
   * id finds nothing.
   */
  find(id: string, caller: Caller, posture: "meta" | undefined): Session | undefined | Promise<Session | undefined> {
    const live = this.#live.get(id);
    if (live === undefined) return this.#rehydrate(id, caller, posture);
    if (!belongs(live.row, caller, posture)) return undefined;
    if (!live.stale && !this.#core.settings.isolated && this.#touch(live)) return live;
    return this.#nodes === undefined ? undefined : this.#reread(live, this.#nodes);
  }

  async end(session: Session): Promise<void> {
    this.drop(session);
    const { sessions, streams } = this.#core.settings;
    await sessions.delete(session.row.id);
    this.#nodes?.rows.notify(session.row.id);
    await streams.delete(session.row.id);
  }

  close(): void {
    this.#undoSweep?.();
    this.#core.sentEvents.close();
    this.#nodes?.close();
    for (const session of this.#live.values()) session.close();
    this.#live.clear();
  }

  // A process that has not seen the id before can serve it too: the row is the session.
  async #rehydrate(id: string, caller: Caller, posture: "meta" | undefined): Promise<Session | undefined> {
    if (!/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
    const { settings } = this.#core;
    // The lookup costs a read of the store, so guessing ids is limited like calls are.
    this.#core.limit(caller);
    const hints = this.#nodes?.rows.hints;
    const row = await settings.sessions.get(id);
    if (row === undefined || row.seenAt < this.#storedBefore() || !belongs(row, caller, posture)) return undefined;
    const other = this.#live.get(id);
    if (other !== undefined) return other;
    const session = this.#keep(this.#revive(row, true), caller);
    session.stale = this.#nodes?.rows.hints !== hints;
    // Its client may go to another node next, so the row has to show that it was here.
    this.#touch(session);
    return session;
  }

  // Other nodes may have ended, changed or served it since.
  async #reread(session: Session, { rows }: Nodes): Promise<Session | undefined> {
    await rows.reread(session);
    return !session.closed && this.#touch(session) ? session : undefined;
  }

  #revive(row: SessionRow, ready: boolean): Session {
    const { settings, work } = this.#core;
    const how = { ready, stored: true, closing: work.closing, ...(this.#nodes === undefined ? undefined : { nodes: this.#nodes }) };
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
    for (const request of session.active.all()) request.abort();
    session.close();
  }

  // Rows are touched at most every ttl/10, when a row that another process deleted is noticed. False: it has expired.
  #touch(session: Session): boolean {
    const { clock, sessions, sessionTtlMs, log } = this.#core.settings;
    const now = clock.now();
    const { seenAt, id } = session.row;
    if (now - seenAt >= sessionTtlMs / 10) {
      if (this.#expired(session)) return false;
      session.row = { ...session.row, seenAt: now };
      this.#live.delete(id);
      this.#live.set(id, session);
      const touched = sessions.get(id).then((row) => (row === undefined ? this.drop(session) : sessions.touch(id, now)));
      touched.catch((error: unknown) => log("error", { event: "session-touch-failed", ...inLog(error) }));
    }
    session.seenAt = now;
    return true;
  }

  // If the client goes to other nodes too, only the row tells.
  #expired({ busy, seenAt, row }: Session): boolean {
    const { clock, sessionTtlMs } = this.#core.settings;
    if (busy || seenAt >= settledNow(clock) - sessionTtlMs) return false;
    return this.#nodes === undefined || row.seenAt < this.#storedBefore();
  }

  // The stored time may be a tenth of the TTL too old, so a session ends that much later rather than too early.
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
    const { sessions, streams, isolated } = this.#core.settings;
    for (const session of this.#live.values()) {
      if (isolated) session.stale = true;
      if (session.busy) this.#touch(session);
      // Another node may have served it since, or be the one that deletes it; it is not needed here.
      else if (this.#nodes !== undefined && this.#expired(session)) this.drop(session);
      if (session.stale && session.busy) this.#nodes?.rows.rereadSoon(session);
    }
    const ended = await sessions.expire(this.#storedBefore());
    for (const id of ended) {
      const live = this.#live.get(id);
      if (live !== undefined) this.drop(live);
    }
    for (const [at, id] of ended.entries()) {
      // A store that answers at once would block the event loop until all are deleted.
      if (at % AT_ONCE === AT_ONCE - 1) await new Promise<void>(soon);
      await streams.delete(id);
    }
  }
}

function belongs(row: SessionRow, caller: Caller, posture: "meta" | undefined): boolean {
  return row.principal === caller.principal && row.posture === posture;
}

/** The sessions in memory by caller. Local callers without a principal are all the same, and have no limit. */
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

  /** If its caller has too many sessions: the one that has been unused for longest. */
  excess(session: Session): Session | undefined {
    const { countedFor } = session;
    const own = countedFor === undefined ? undefined : this.#callers.get(countedFor);
    if (own === undefined || own.size <= this.#most) return undefined;
    let idle: Session | undefined;
    for (const one of own) if (one !== session && !one.busy && one.seenAt < (idle?.seenAt ?? Infinity)) idle = one;
    return idle;
  }
}
