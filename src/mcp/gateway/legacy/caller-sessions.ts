import type { Caller } from "../../../core/contract/index.ts";
import { isLocal, MultiMap, peerOf } from "../../../core/contract/internal.ts";
import type { Session } from "./session.ts";

/** The sessions in memory by whose they are. Who calls from this machine without a principal is everybody there, and has no bound. */
export class CallerSessions {
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
