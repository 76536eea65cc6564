import { createPublicKey, type KeyObject } from "node:crypto";
import { checkpointEntry, forkEntry, readBody, readHeader } from "../core/chain/index.ts";
import { type ActorId, type Entry, isJsonObject, type Json, type Store, systemClock, systemEntropy } from "../core/contract/index.ts";
import { kindOf } from "../core/contract/internal.ts";
import type { LocalEngine } from "../core/engine/index.ts";
import { eventsOfState } from "./events-of-state.ts";
import { usage } from "./exit-code.ts";

const stamped = (): { readonly messageId: string; readonly at: number; readonly seed: string } => ({
  messageId: systemEntropy.uuid(),
  at: systemClock.now(),
  seed: systemEntropy.hex(16),
});

/** A muted copy of `from` as it was at event `at` (default: its last), under another key. */
export const fork = async (store: Store, from: ActorId, to: ActorId, at: number | undefined): Promise<Json> => {
  if (kindOf(from) !== kindOf(to)) throw usage(`A fork is of the same kind as its origin: name it ${kindOf(from)}/….`);
  if ((await store.load(to)) !== undefined) throw usage(`There is an actor ${to} already: choose another key.`);
  const length = async (): Promise<number | undefined> => (await store.load(from))?.seq;
  const events = await eventsOfState(store, from, at ?? (await length()) ?? 1, length);
  const entry = forkEntry(events, { to, life: systemEntropy.uuid(), ...stamped() });
  await store.commit(to, entry);
  return { actor: to, seq: entry.seq, head: entry.event.id };
};

/** The checkpoint that is the actor's last event. */
const lastCheckpoint = async (store: Pick<Store, "load">, id: ActorId): Promise<Pick<Entry, "seq" | "event"> | undefined> => {
  const stored = await store.load(id);
  const event = stored?.tail.at(-1);
  if (stored === undefined || event === undefined) return undefined;
  const { type, parent } = readHeader(event);
  const { state, message = null } = readBody(event) ?? {};
  const args = isJsonObject(message) ? message["args"] : undefined;
  // A kind may have a message of that name: its event names no head.
  const isCheckpoint = type === "checkpoint" && state !== undefined && isJsonObject(args) && args["head"] === parent;
  return isCheckpoint ? { seq: stored.seq, event } : undefined;
};

/** Writes the whole state as an event between two turns, signed where there is a key, and erases the bodies before it if asked. */
export const checkpoint = async (
  engine: Pick<LocalEngine, "append">,
  store: Store,
  id: ActorId,
  options: { readonly key?: KeyObject; readonly erase: boolean },
): Promise<Json> => {
  const { key } = options;
  // Nothing has come since: another would say the same, and be one more event each time this is asked for.
  const last = key === undefined ? await lastCheckpoint(store, id) : undefined;
  const { seq, event } = last ?? (await engine.append(id, (stored) => checkpointEntry(id, stored, stamped(), key)));
  const erased = options.erase ? await store.erase(id, seq) : 0;
  return {
    actor: id,
    seq,
    head: event.id,
    signed: readBody(event)?.record !== undefined,
    erased,
    ...(key === undefined ? {} : { publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString() }),
  };
};
