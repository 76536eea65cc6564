import type { ActorId, ChainEvent, Entry } from "../contract/index.ts";
import { StoreError } from "../contract/index.ts";
import type { Stamped } from "./checkpoint.ts";
import { readHeader, seal } from "./event.ts";
import { stateFrom } from "./state.ts";

export interface ForkOptions extends Stamped {
  /** The new actor, of the same kind. */
  readonly to: ActorId;
  /** UUID of its life. */
  readonly life: string;
  /** What it sends is recorded and never delivered, in this life and all after it. Default true. */
  readonly muted?: boolean;
}

/**
 * The first entry of a chain that begins with the state after the last of `events` (from a
 * whole state on). It names its origin, in its message and as its cause. Wakes and
 * unanswered messages stay with the origin.
 */
export function forkEntry(events: readonly ChainEvent[], { to, life, messageId, at, seed, muted = true }: ForkOptions): Entry {
  const last = events.at(-1);
  if (last === undefined) throw new StoreError("STORE_CORRUPT", "There is nothing to fork: the chain is empty.");
  const { state, version } = stateFrom(events);
  const origin = readHeader(last);
  const event = seal(
    { actor: to, life, seq: 1, parent: null, at, type: "fork", cause: last.id },
    {
      message: {
        id: messageId,
        to,
        action: "fork",
        args: { actor: origin.actor, life: origin.life, seq: origin.seq, head: last.id },
        at,
        seed,
      },
      state,
      version,
      sent: [],
      reply: { ok: null },
    },
  );
  return {
    after: null,
    seq: 1,
    event,
    full: true,
    row: {
      uid: life,
      life,
      version,
      createdAt: at,
      lastMessageAt: at,
      messageCount: 1,
      status: "live",
      ...(muted ? { muted } : {}),
      wakes: {},
      pending: {},
    },
    out: [],
  };
}
