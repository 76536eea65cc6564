import { changedSession, Queues, type SessionChange, type SessionRow } from "../../../core/contract/index.ts";
import { inLog } from "../errors.ts";
import type { Settings } from "../settings.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

// A gap makes all of them doubtful at once, and the store serves others too.
const READ_AT_ONCE = 8;

/** Rows that other nodes write as well: what is held of them in memory follows the store. */
export class SharedRows {
  readonly #settings: Settings;
  readonly #sessions: Sessions;
  readonly #tell: (session: string) => void;
  readonly #waiting = new Set<Session>();
  /** One reading or writing of a row after the other: what is held is what was written or read last. */
  readonly #queues = new Queues<Session>();
  #reading = 0;
  /** Counts what was heard, so that who reads a row that nobody here holds yet knows of doubts. */
  heard = 0;

  constructor(settings: Settings, sessions: Sessions, tell: (session: string) => void) {
    this.#settings = settings;
    this.#sessions = sessions;
    this.#tell = tell;
  }

  /** Says to the others that the row is another now, or gone. */
  tell(session: string): void {
    this.#tell(session);
  }

  /** Another node has changed that row. What is not in use reads it when it is used. */
  changed(id: string | undefined): void {
    this.heard += 1;
    const session = id === undefined ? undefined : this.#sessions.live(id);
    if (session === undefined) return;
    session.stale = true;
    if (session.busy) this.rereadSoon(session);
  }

  /** Whatever others have told may have gone unheard. */
  doubtAll(): void {
    this.heard += 1;
    for (const session of this.#sessions.all()) {
      session.doubt();
      if (session.busy) this.rereadSoon(session);
    }
  }

  /** A stale row is read again, a few at a time. */
  rereadSoon(session: Session): void {
    this.#waiting.add(session);
    if (this.#reading < READ_AT_ONCE) void this.#readWaiting();
  }

  /** What is held follows the row; without one the session is over here too. */
  reread(session: Session): Promise<void> {
    return this.#queues.run(session, async () => {
      // Before it is read: what is heard meanwhile makes it stale again.
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
      // Also when it failed: it may have been written all the same.
      this.#tell(session.row.id);
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
    // What still ran may have kept something after whoever ended the session had deleted it all.
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
