// Owns: which session a request over HTTP belongs to, how one begins, which are in memory, and when they expire.
// Does not own: what one session does (session.ts).
import type { Caller, Exchange, Json, JsonObject, SessionReport, SessionRow, Source } from "../../../core/contract/index.ts";
import { isLocal, MultiMap, peerOf, settledNow } from "../../../core/contract/internal.ts";
import { sha256Hex, soon } from "../../../core/platform/index.ts";
import type { Core } from "../core.ts";
import type { Dialect } from "../dialects.ts";
import { Fault, inLog, type Reason } from "../errors.ts";
import { EMPTY, objectIn, type Request, shortText } from "../json-rpc.ts";
import { negotiate } from "../revision.ts";
import { Nodes } from "./nodes.ts";
import { Session, SessionNotices } from "./session.ts";

export const SESSION = "mcp-session-id";
const ADOPTED = "adopted|";
const ADOPTABLE = /^[\x21-\x7e]{1,128}$/;

export const sessionRequired = (reason?: Reason): Fault =>
  new Fault("SESSION_REQUIRED", "The Mcp-Session-Id header is missing; send initialize first.", reason && { reason });
export const sessionUnknown = (): Fault => new Fault("SESSION_UNKNOWN", "Session not found; send initialize again, without a session id.");

/** The name that the client has for a session: an adopted one has another id in the store. */
export function sessionCalled({ row }: Session, exchange: Exchange): string {
  return row.id.startsWith(ADOPTED) ? (exchange.header(SESSION) ?? row.id) : row.id;
}

/** The headers of an event stream, some of which name the session. */
export function streamHeaders({ sessionOn }: Dialect, session: Session, exchange: Exchange): Readonly<Record<string, string>> | undefined {
  return sessionOn === "initialize" ? undefined : { [SESSION]: sessionCalled(session, exchange) };
}

// A client chooses the id to be adopted, and another may choose the same. Its owner is therefore part of the stored id: no client can reach
// or overwrite the session of another, in whichever order they come.
function adoptedId(id: string, { caller, posture }: Exchange): string {
  return ADOPTED + sha256Hex(JSON.stringify([caller.principal ?? null, posture ?? null, id]));
}

/** Sessions whose streams are deleted in one round of the event loop. */
const AT_ONCE = 64;

/** The sessions over HTTP: rows in the store, and the live ones in memory. */
export class Sessions {
  readonly #core: Core;
  readonly #sourceFor: (posture: string | undefined) => Source;
  readonly #notices = new Map<Source, SessionNotices>();
  readonly #live = new Map<string, Session>();
  /** Adopted sessions that are beginning, by id. */
  readonly #beginning = new Map<string, Promise<Session>>();
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

  /** The caller's session that its client calls so. */
  find(id: string, exchange: Exchange): Session | undefined | Promise<Session | undefined> {
    if (this.#core.settings.unknownSession !== "adopt") return this.#byId(id, exchange);
    const adopted = adoptedId(id, exchange);
    return this.#live.has(adopted) ? this.#byId(adopted, exchange) : this.#findEither(id, adopted, exchange);
  }

  async #findEither(id: string, adopted: string, exchange: Exchange): Promise<Session | undefined> {
    return (await this.#byId(id, exchange)) ?? this.#byId(adopted, exchange);
  }

  /** The session that initialize begins. If it names one, and may, it begins under that name again. */
  async initialize(request: Request, exchange: Exchange): Promise<Session> {
    const row = newSession(this.#core, request, exchange.caller, exchange.posture);
    const { unknownSession } = this.#core.settings;
    if (unknownSession === "reject") return this.#add(row, exchange.caller);
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.find(id, exchange);
    if (own !== undefined) {
      await this.end(own);
      return this.#add({ ...row, id: own.row.id }, exchange.caller);
    }
    const adopts = id !== undefined && unknownSession === "adopt" && ADOPTABLE.test(id);
    return this.#add(adopts ? { ...row, id: adoptedId(id, exchange) } : row, exchange.caller);
  }

  /** For any other request: the session it names, or one that begins with it. Rejects if it may not begin one. */
  async findOrBegin(how: "reissue" | "adopt", exchange: Exchange, version: string | undefined): Promise<Session> {
    const id = exchange.header(SESSION);
    const own = id === undefined ? undefined : await this.find(id, exchange);
    if (own !== undefined) return own;
    if (how === "reissue") return this.#begin(exchange, version, undefined);
    if (id === undefined) throw sessionRequired();
    if (!ADOPTABLE.test(id)) throw sessionUnknown();
    // The requests that a client sends at once begin one session.
    const adopted = adoptedId(id, exchange);
    let beginning = this.#beginning.get(adopted);
    if (beginning === undefined) {
      beginning = this.#begin(exchange, version, adopted).finally(() => this.#beginning.delete(adopted));
      this.#beginning.set(adopted, beginning);
    }
    return beginning;
  }

  async #begin(exchange: Exchange, version: string | undefined, id: string | undefined): Promise<Session> {
    this.#core.limit(exchange.caller);
    const row = uninitialized(this.#core, exchange.caller, exchange.posture, version);
    const session = await this.#add(id === undefined ? row : { ...row, id }, exchange.caller);
    session.ready = true;
    return session;
  }

  async #add(row: SessionRow, caller: Caller): Promise<Session> {
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
  #byId(id: string, exchange: Exchange): Session | undefined | Promise<Session | undefined> {
    const live = this.#live.get(id);
    if (live === undefined) return this.#rehydrate(id, exchange);
    if (!belongs(live.row, exchange)) return undefined;
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
  async #rehydrate(id: string, exchange: Exchange): Promise<Session | undefined> {
    if (!/^[\x21-\x7e]{1,128}$/.test(id)) return undefined;
    const { settings } = this.#core;
    // The lookup costs a read of the store, so guessing ids is limited like calls are.
    this.#core.limit(exchange.caller);
    const hints = this.#nodes?.rows.hints;
    const row = await settings.sessions.get(id);
    if (row === undefined || row.seenAt < this.#storedBefore() || !belongs(row, exchange)) return undefined;
    const other = this.#live.get(id);
    if (other !== undefined) return other;
    const session = this.#keep(this.#revive(row, true), exchange.caller);
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

function belongs(row: SessionRow, { caller, posture }: Exchange): boolean {
  return row.principal === caller.principal && row.posture === posture;
}

// What is stored of a client, each with at most so many characters. Nothing else is: there may be very many sessions.
const NAMES = ["name", "version", "title"] as const;
const MAX_NAME = 256;
/** The capabilities that `canOf` reads. */
const CAPABILITIES = { elicitation: ["form", "url"], sampling: ["tools"], roots: [] } as const;
// Very many sessions share what is empty.
const NONE: readonly string[] = Object.freeze([]);

/** The row of a session that initialize begins. Throws `PARAMS`. */
export function newSession(core: Core, request: Request, caller: Caller, posture: "meta" | undefined): SessionRow {
  const { protocolVersion } = request.params;
  const { dialect } = core.settings;
  const readable = typeof protocolVersion === "string" && protocolVersion.length <= 64;
  if (!readable && !dialect.anyInitialize)
    throw new Fault("PARAMS", `initialize needs a protocolVersion: one of ${dialect.revisions.join(", ")}.`);
  return {
    ...uninitialized(core, caller, posture, readable ? protocolVersion : undefined),
    client: clientIn(request.params),
    capabilities: capabilitiesIn(request.params),
  };
}

/** The row of a session whose client has named nothing but, at most, its revision. */
function uninitialized({ settings }: Core, caller: Caller, posture: "meta" | undefined, wanted: string | undefined): SessionRow {
  const now = settings.clock.now();
  return {
    id: settings.entropy.hex(16),
    ...(caller.principal === undefined ? undefined : { principal: caller.principal }),
    protocol: negotiate(settings.dialect.revisions, wanted),
    client: EMPTY,
    capabilities: EMPTY,
    subscriptions: NONE,
    ...(posture === undefined ? undefined : { posture }),
    createdAt: now,
    seenAt: now,
  };
}

function clientIn(params: JsonObject): JsonObject {
  const info = objectIn(params, "clientInfo");
  return objectOf(NAMES.flatMap((name) => entry(name, shortText(info?.[name], MAX_NAME))));
}

function capabilitiesIn(params: JsonObject): JsonObject {
  const declared = objectIn(params, "capabilities");
  if (declared === undefined) return EMPTY;
  return objectOf(
    Object.entries(CAPABILITIES).flatMap(([name, parts]) => {
      const capability = objectIn(declared, name);
      return capability === undefined
        ? []
        : entry(name, objectOf(parts.flatMap((part) => entry(part, objectIn(capability, part) && EMPTY))));
    }),
  );
}

const entry = (name: string, value: Json | undefined): readonly (readonly [string, Json])[] => (value === undefined ? [] : [[name, value]]);

const objectOf = (entries: readonly (readonly [string, Json])[]): JsonObject =>
  entries.length === 0 ? EMPTY : Object.fromEntries(entries);

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
