import { atMostBytes, begin, extraOf, faults, mayStart, upcast, type Base, type Kind } from "../../core/chain/internal.ts";
import type { ActorId, EngineError, Message } from "../../core/contract/index.ts";
import type { Kept } from "./kept.ts";

/** What a turn starts from, and where in the chain it goes. */
export interface Place {
  readonly base: Base;
  readonly born: boolean;
  /** Absent before the first life. */
  readonly kept: Kept | undefined;
  /** Written by another version of the behaviour: the next event holds the state whole. */
  readonly stale: boolean;
}

/** A first state that could not be made: the actor has failed. */
export class NoBeginning extends Error {
  override readonly name = "NoBeginning";
}

/** For a message. Throws an `EngineError` where the actor does not take it, `NoBeginning` where `initial` throws. */
export function placeFor(kind: Kind, message: Message, kept: Kept | undefined, why: string | undefined): Place {
  const { to } = message;
  const ended = kept?.row.status === "stopped";
  if (why !== undefined) throw faults.failed(to, why);
  if (kept !== undefined && !ended) {
    const { owner } = kept.row;
    if (owner !== undefined && message.viewer !== undefined && message.viewer.principal !== owner) throw faults.noActor(to);
    return living(kind, to, kept, true);
  }
  if (!mayStart(kind, message)) throw kept === undefined ? faults.noActor(to) : faults.stopped(to);
  const before = kept === undefined ? undefined : { uid: kept.row.uid, ...(kept.row.muted && { muted: true as const }) };
  try {
    return { base: begin(kind, to, message, before), born: true, kept, stale: false };
  } catch (error) {
    if (isEngineError(error)) throw error;
    throw new NoBeginning("Its first state could not be made.", { cause: error });
  }
}

/** For what the engine does itself: `strict` throws where the state is not understood. */
export function living(kind: Kind, id: ActorId, kept: Kept, strict: boolean): Place {
  const { row, state, bytes } = kept;
  const understood = upcast(kind, id, { state, version: row.version });
  if (strict && understood.failure) throw understood.failure;
  const { stale } = understood;
  const base: Base = {
    state: understood.state,
    bytes: stale ? atMostBytes(understood.state) : bytes,
    life: row.life,
    createdAt: row.createdAt,
    extra: extraOf(kind, row),
  };
  return { base, born: false, kept, stale };
}

const isEngineError = (error: unknown): error is EngineError => error instanceof Error && error.name === "EngineError";
