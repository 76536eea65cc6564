import { createPublicKey, type KeyObject } from "node:crypto";
import { checkpointEntry, forkEntry } from "../chain/index.ts";
import { type ActorId, type Json, type Store, systemClock, systemEntropy } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { LocalEngine } from "../engine/index.ts";
import { notFound, usage } from "./exit-code.ts";
import { chainOf, refuseErased } from "./reading.ts";

const stamped = (): { readonly messageId: string; readonly at: number; readonly seed: string } => ({
  messageId: systemEntropy.uuid(),
  at: systemClock.now(),
  seed: systemEntropy.hex(16),
});

/** A muted copy of `from` as it was at event `at` (default: its last), under another key. */
export const fork = async (store: Store, from: ActorId, to: ActorId, at: number | undefined): Promise<Json> => {
  if (kindOf(from) !== kindOf(to)) throw usage(`A fork is of the same kind as its origin: name it ${kindOf(from)}/….`);
  if ((await store.load(to)) !== undefined) throw usage(`There is an actor ${to} already: choose another key.`);
  const events = await chainOf(store, from, at);
  if (at !== undefined && events.length < at) throw notFound(`${from} has ${events.length} events, not ${at}.`);
  refuseErased(from, events, events.length);
  const entry = forkEntry(events, { to, life: systemEntropy.uuid(), ...stamped() });
  await store.commit(to, entry);
  return { actor: to, seq: entry.seq, head: entry.event.id };
};

/** Writes the whole state as an event between two turns, signed where there is a key, and erases the bodies before it if asked. */
export const checkpoint = async (
  engine: Pick<LocalEngine, "append">,
  store: Store,
  id: ActorId,
  options: { readonly key?: KeyObject; readonly erase: boolean },
): Promise<Json> => {
  const { key } = options;
  const entry = await engine.append(id, (stored) => checkpointEntry(id, stored, stamped(), key));
  const erased = options.erase ? await store.erase(id, entry.seq) : 0;
  return {
    actor: id,
    seq: entry.seq,
    head: entry.event.id,
    signed: key !== undefined,
    erased,
    ...(key === undefined ? {} : { publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString() }),
  };
};
