import type { Caller } from "../../contract/index.ts";
import { isLocal, peerOf } from "../../contract/internal.ts";
import type { Session } from "./session.ts";

/** The sessions in memory by whose they are. Who calls from this machine without a principal is everybody there, and has no bound. */
export class CallerSessions {
  readonly #most: number;
  readonly #callers = new Map<string, Set<Session>>();

  constructor(most: number) {
    this.#most = most;
  }

  add(session: Session, { principal, peer }: Caller): void {
    if (principal === undefined && (peer === undefined || isLocal(peer))) return;
    const who = principal ?? `peer ${peerOf(peer)}`;
    session.countedFor = who;
    const own = this.#callers.get(who);
    if (own === undefined) this.#callers.set(who, new Set([session]));
    else own.add(session);
  }

  remove(session: Session): void {
    const own = this.#of(session);
    if (own?.delete(session) && own.size === 0 && session.countedFor !== undefined) this.#callers.delete(session.countedFor);
  }

  /** Where its caller has too many: the one that has been left alone for the longest time. */
  tooMany(session: Session): Session | undefined {
    const own = this.#of(session);
    if (own === undefined || own.size <= this.#most) return undefined;
    let idle: Session | undefined;
    for (const one of own) if (one !== session && !one.busy && one.seenAt < (idle?.seenAt ?? Infinity)) idle = one;
    return idle;
  }

  #of({ countedFor }: Session): Set<Session> | undefined {
    return countedFor === undefined ? undefined : this.#callers.get(countedFor);
  }
}
