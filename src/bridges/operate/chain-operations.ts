// Owns: operations that write events of their own to a chain: fork, revert, checkpoint, edit (with JSON Merge Patch, RFC 7396). Does not
// own: the form of these events (core/chain), who may ask for them.
import { createPublicKey, type KeyObject } from "node:crypto";
import {
  checkpointEntry,
  editEntry,
  forkEntry,
  type ForkOptions,
  readBody,
  readHeader,
  revertEntry,
  type Stamped,
  stateAt,
} from "../../core/chain/index.ts";
import {
  type ActorId,
  type ChainEvent,
  type Clock,
  type Entropy,
  type Entry,
  isJsonObject,
  type Json,
  type JsonObject,
  type Snapshot,
  type Store,
  type Stored,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";
import { counted, getOwn, isActorId, kindOf, omitUndefined, setOwn } from "../../core/contract/internal.ts";
import { badUsage, noActor, OperationError } from "./operation-error.ts";
import { eventsOf } from "./paging.ts";
import { eventsOfState } from "./readers.ts";

/** `LocalEngine.append`: appends an event between two turns, made from the stored actor at that time. */
export interface Appender {
  append(id: ActorId, make: (stored: Stored) => Entry): Promise<Entry>;
}

interface Stamping {
  /** The operator. Absent: the event names none. */
  readonly principal?: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

const stamped = ({ clock = systemClock, entropy = systemEntropy, principal }: Stamping): Stamped => ({
  messageId: entropy.uuid(),
  at: clock.now(),
  seed: entropy.hex(16),
  ...omitUndefined({ principal }),
});

/** A muted copy of `from` as it was at event `at` (default: its last), under another key. */
export async function fork(store: Store, from: ActorId, to: ActorId, at: number | undefined, stamping: Stamping = {}): Promise<Json> {
  if (kindOf(from) !== kindOf(to)) throw badUsage(`A fork is of the same kind as its origin: name it ${kindOf(from)}/….`);
  if ((await store.load(to)) !== undefined) throw badUsage(`There is an actor ${to} already: choose another key.`);
  const length = async (): Promise<number | undefined> => (await store.load(from))?.seq;
  const events = await eventsOfState(store, from, at ?? (await length()) ?? 1, length);
  const origin = await originOf(store, from, events);
  const entry = forkEntry(events, { to, origin, life: (stamping.entropy ?? systemEntropy).uuid(), ...stamped(stamping) });
  await store.commit(to, entry);
  return { actor: to, seq: entry.seq, head: entry.event.id };
}

/** What else a fork takes from its origin. The row names the owner of the present life only; that of an earlier life is who started it. */
async function originOf(store: Store, from: ActorId, events: readonly ChainEvent[]): Promise<ForkOptions["origin"]> {
  const row = (await store.load(from))?.row;
  const last = events.at(-1);
  if (row === undefined || last === undefined) return {};
  const { owner, policy } = row;
  const { life } = readHeader(last);
  return omitUndefined({ owner: owner === undefined || life === row.life ? owner : await starterOf(store, from, life), policy });
}

async function starterOf(store: Store, id: ActorId, life: string): Promise<string> {
  for await (const event of eventsOf(store, id)) {
    if (readHeader(event).life !== life) continue;
    const message: unknown = readBody(event)?.message;
    if (!isJsonObject(message)) break;
    const { viewer, args } = message;
    if (readHeader(event).type === "fork" && isJsonObject(args)) {
      // An operator began it, for the owner of what was forked.
      const { actor, life: before } = args;
      if (isActorId(actor) && typeof before === "string") return starterOf(store, actor, before);
      break;
    }
    if (isJsonObject(viewer) && typeof viewer["principal"] === "string") return viewer["principal"];
    break;
  }
  throw badUsage(`It is not known any more whose ${id} was in that life, so it cannot be forked from there.`);
}

const LISTED_EVENTS = 10;

interface Senders {
  readonly head: string;
  readonly senders: readonly number[];
  readonly count: number;
}

/** The events after `to`, up to the present: which of them sent messages, and the last one. Throws if `to` is of an earlier life. */
async function sendersAfter(store: Store, id: ActorId, to: number, life: string): Promise<Senders> {
  const senders: number[] = [];
  let count = 0;
  let head = "";
  for await (const event of eventsOf(store, id, to - 1)) {
    const { seq, life: own } = readHeader(event);
    if (own !== life) throw badUsage(`Event ${seq} of ${id} is of an earlier life, which has ended: fork that one instead.`);
    head = event.id;
    const sent = readBody(event)?.sent;
    // What an erased body sent is unknown.
    if (seq === to || sent?.length === 0) continue;
    count += 1;
    if (senders.length < LISTED_EVENTS) senders.push(seq);
  }
  return { head, senders, count };
}

/** Turns may be committed while the chain is read. */
const MOST_TRIES = 5;

/**
 * Appends an event that restores the state after event `to`. Refused (`SENT`) if a later event sent messages, unless forced: the receivers
 * have them.
 */
export async function revert(
  engine: Appender,
  store: Store,
  id: ActorId,
  { to, reason, force, ...stamping }: { readonly to: number; readonly reason: string; readonly force: boolean } & Stamping,
): Promise<Json> {
  for (let tries = 1; ; tries += 1) {
    const stored = await store.load(id);
    if (stored === undefined) throw noActor(id);
    if (stored.row.status === "stopped") throw badUsage(`${id} has stopped: only a live actor is reverted. Fork it instead.`);
    if (to < 1 || to >= stored.seq) throw badUsage(`${id} has ${counted(stored.seq, "event")}: name one before the last.`);
    const past = stateAt(await eventsOfState(store, id, to, () => Promise.resolve(stored.seq)), to);
    const { head, senders, count } = await sendersAfter(store, id, to, stored.row.life);
    if (count > 0 && !force)
      throw new OperationError(
        "SENT",
        `Since event ${to}, ${id} has sent messages, or what it sent was erased (${count === 1 ? "event" : "events"} ${senders.join(", ")}${count > senders.length ? ", …" : ""}). They cannot be taken back: correct their receivers, and force the revert to restore the state all the same.`,
      );
    let changed = false;
    try {
      const { seq, event } = await engine.append(id, (now) => {
        changed = now.head !== head;
        if (changed) throw new Error("The chain has more events than were read.");
        return revertEntry(id, now, past, { to, reason, ...stamped(stamping) });
      });
      return { actor: id, seq, head: event.id, to, sent: count };
    } catch (error) {
      if (!changed) throw error;
      if (tries === MOST_TRIES) throw new OperationError("CHANGED", `${id} keeps changing: stop its callers, or try again.`);
    }
  }
}

/** The checkpoint that is the actor's last event. */
async function lastCheckpoint(store: Pick<Store, "load">, id: ActorId): Promise<Pick<Entry, "seq" | "event"> | undefined> {
  const stored = await store.load(id);
  const event = stored?.tail.at(-1);
  if (stored === undefined || event === undefined) return undefined;
  const { type, parent } = readHeader(event);
  const { state, message = null } = readBody(event) ?? {};
  const args = isJsonObject(message) ? message["args"] : undefined;
  // A kind may have a message of that name: its event names no head.
  const isCheckpoint = type === "checkpoint" && state !== undefined && isJsonObject(args) && args["head"] === parent;
  return isCheckpoint ? { seq: stored.seq, event } : undefined;
}

/** Writes the whole state as an event between two turns, signed if there is a key, and erases the bodies before it if requested. */
export async function checkpoint(
  engine: Appender,
  store: Store,
  id: ActorId,
  { key, erase, ...stamping }: { readonly key?: KeyObject; readonly erase: boolean } & Stamping,
): Promise<Json> {
  // Nothing has come since: another would say the same, and be one more event each time.
  const last = key === undefined ? await lastCheckpoint(store, id) : undefined;
  const { seq, event } = last ?? (await engine.append(id, (stored) => checkpointEntry(id, stored, stamped(stamping), key)));
  const erased = erase ? await store.erase(id, seq) : 0;
  return {
    actor: id,
    seq,
    head: event.id,
    signed: readBody(event)?.record !== undefined,
    erased,
    ...(key !== undefined && { publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString() }),
  };
}

/** An operator's edit. */
export interface Edit extends Stamping {
  /** Returns the new state, given the current one. Throws if the edit is invalid. */
  readonly change: (state: Json) => Json;
  readonly reason: string;
  /** The editor. */
  readonly principal: string;
  /** True if the state was not checked by its schema, which the event records. */
  readonly force: boolean;
  /** The last event that the editor has seen. Absent: the current one. */
  readonly head?: string;
  readonly maxBytes: number;
}

/** What an edit needs of an actor. */
export type Editable = Pick<Snapshot, "state" | "version" | "head" | "status">;

/** Appends an event with another state. Throws `CHANGED` if the actor has changed since event `head`. */
export async function edit(
  engine: Appender,
  read: (id: ActorId) => Promise<Editable | undefined>,
  id: ActorId,
  options: Edit,
): Promise<JsonObject> {
  const { change, reason, principal, force, head, maxBytes } = options;
  for (let tries = 1; ; tries += 1) {
    // As the engine has it: migrated to the version of the code that runs.
    const known = await read(id);
    if (known === undefined) throw noActor(id);
    if (known.status === "stopped") throw badUsage(`${id} has stopped: only the state of a live actor can be edited. Fork it instead.`);
    if (head !== undefined && known.head !== head)
      throw new OperationError("CHANGED", `${id} has changed since it was read: look at its state again, then edit that.`);
    const { version } = known;
    const state = change(known.state);
    let changed = false;
    try {
      const { seq, event } = await engine.append(id, (now) => {
        changed = now.head !== known.head;
        if (changed) throw new Error("The chain has more events than were read.");
        return editEntry(id, now, { state, version, reason, principal, force, maxBytes, ...stamped(options) });
      });
      return { actor: id, seq, head: event.id };
    } catch (error) {
      if (!changed) throw error;
      if (tries === MOST_TRIES) throw new OperationError("CHANGED", `${id} keeps changing: stop its callers, or try again.`);
    }
  }
}

/** The change that `state`, or `patch`, describes. Throws `USAGE` for both or neither. */
export function changeOf({ state, patch }: JsonObject): (before: Json) => Json {
  if ((state === undefined) === (patch === undefined))
    throw badUsage('Give either "state", the whole of it, or "patch", a JSON Merge Patch.');
  return state === undefined ? (before) => mergePatch(before, patch ?? null) : () => state;
}

/** RFC 7396: members of the patch replace those of the target, objects are merged, and null removes a member. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, Json> = {};
  const before = isJsonObject(target) ? target : {};
  for (const [key, value] of Object.entries(before)) if (getOwn(patch, key) !== null) setOwn(merged, key, value);
  for (const [key, value] of Object.entries(patch)) if (value !== null) setOwn(merged, key, mergePatch(getOwn(before, key) ?? null, value));
  return merged;
}
