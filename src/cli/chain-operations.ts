import { createPublicKey, type KeyObject } from "node:crypto";
import { checkpointEntry, forkEntry, readBody, readHeader, revertEntry, stateAt } from "../core/chain/index.ts";
import { type ActorId, type Entry, isJsonObject, type Json, type Store, systemClock, systemEntropy } from "../core/contract/index.ts";
import { kindOf } from "../core/contract/internal.ts";
import type { LocalEngine } from "../core/engine/index.ts";
import { eventsOfState } from "./events-of-state.ts";
import { CommandError, EXIT, noActor, usage } from "./exit-code.ts";
import { eventsOf } from "./reading.ts";

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

const LISTED_EVENTS = 10;

/** The events after `to`, up to the present: which of them sent messages, and the last one. Throws if `to` is of an earlier life. */
const sendersAfter = async (
  store: Store,
  id: ActorId,
  to: number,
  life: string,
): Promise<{ readonly head: string; readonly senders: readonly number[]; readonly count: number }> => {
  const senders: number[] = [];
  let count = 0;
  let head = "";
  for await (const event of eventsOf(store, id, to - 1)) {
    const { seq, life: own } = readHeader(event);
    if (own !== life) throw usage(`Event ${seq} of ${id} is of an earlier life, which has ended: fork that one instead.`);
    head = event.id;
    const sent = readBody(event)?.sent;
    // What an erased body sent is unknown.
    if (seq === to || sent?.length === 0) continue;
    count += 1;
    if (senders.length < LISTED_EVENTS) senders.push(seq);
  }
  return { head, senders, count };
};

/** Turns may be committed while the chain is read. */
const MOST_TRIES = 5;

/**
 * Appends an event that restores the state after event `to`. Refused if a later event sent messages, unless forced: the receivers have
 * them.
 */
export const revert = async (
  engine: Pick<LocalEngine, "append">,
  store: Store,
  id: ActorId,
  { to, reason, force }: { readonly to: number; readonly reason: string; readonly force: boolean },
): Promise<Json> => {
  for (let tries = 1; ; tries += 1) {
    const stored = await store.load(id);
    if (stored === undefined) throw noActor(id);
    if (stored.row.status === "stopped") throw usage(`${id} has stopped: only a live actor is reverted. Fork it instead.`);
    if (to >= stored.seq) throw usage(`${id} has ${stored.seq} events: name one before the last with --to.`);
    const past = stateAt(await eventsOfState(store, id, to, () => Promise.resolve(stored.seq)), to);
    const { head, senders, count } = await sendersAfter(store, id, to, stored.row.life);
    if (count > 0 && !force)
      throw new CommandError(
        EXIT.refused,
        "SENT",
        `Since event ${to}, ${id} has sent messages, or what it sent was erased (${count === 1 ? "event" : "events"} ${senders.join(", ")}${count > senders.length ? ", …" : ""}). They cannot be taken back: correct their receivers, and restore the state all the same with --force.`,
      );
    let changed = false;
    try {
      const { seq, event } = await engine.append(id, (now) => {
        changed = now.head !== head;
        if (changed) throw new Error("The chain has more events than were read.");
        return revertEntry(id, now, past, { to, reason, ...stamped() });
      });
      return { actor: id, seq, head: event.id, to, sent: count };
    } catch (error) {
      if (!changed) throw error;
      if (tries === MOST_TRIES)
        throw new CommandError(EXIT.unavailable, "CHANGED", `${id} keeps changing: stop its callers, or try again.`);
    }
  }
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
