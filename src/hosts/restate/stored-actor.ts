// Owns: how an actor is stored: its own state key, written once per turn, and blocks of older events next to it. Does not own: the
// archive (archive.ts).
//
// C6: the server runs one turn per key at a time and drops the writes of an attempt that was superseded, so a head is never extended
// twice. C7: apart from the chain, only what follows from it is stored: `state` is the result of its events.
//
// The actor's own key goes through the server's log when it is read and when it is written, with each turn. A block is written once.
// When there are enough blocks, they are archived.
import type { SinceFull } from "../../core/chain/internal.ts";
import { StoreError, type ChainEvent, type Json, type Remembered, type Row, type ActorId } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { type DurableReader, uncancellable } from "./durable-context.ts";
import { isObject } from "./handler-inputs.ts";

/** Name of the actor's own state key. All state keys of an actor travel with each of its turns, so they are few and short. */
export const ACTOR_KEY = "actor";
/** Set while work runs: the invocation to cancel. */
export const WORK_KEY = "work";
/** Why an actor that has not started, or has stopped, may not: it is being imported. */
export const HEALTH_KEY = "health";
/** When an actor that expires got its last message, if that left no event. */
export const SEEN_KEY = "seen";

export interface StoredActor {
  readonly row: Row;
  readonly state: Json;
  /** An upper bound of the state's bytes. */
  readonly bytes: number;
  readonly seq: number;
  readonly head: string;
  /** Decides when the next event contains the whole state. */
  readonly since: SinceFull;
  /** Number of the newest events, which are in this key. */
  readonly own: number;
  /** Blocks of older events; still older ones are in the archive. */
  readonly held: BlockTotals;
  /** The newest events (`event-lines.ts`), all of this life. Turns append to the text and do not parse it. */
  readonly lines: string;
  /** The newest replies to keyed calls, and deferred replies (C4). */
  readonly replies: readonly StoredReply[];
  /** The archive has replies too. */
  readonly archived?: true;
  /** For this life, if its kind bounds crashes. */
  readonly health?: Health;
}

export interface BlockTotals {
  readonly blocks: number;
  readonly events: number;
  readonly characters: number;
}

/** A reply that can be repeated, and the event it came with. */
export interface StoredReply extends Remembered {
  readonly seq: number;
  readonly head: string;
}

export interface Health {
  /** Times of crashes, in milliseconds since 1970. */
  readonly times: readonly number[];
  /** Why the actor has failed. */
  readonly why?: string;
  /** Names of timers that came due since it failed. They fire when it is restarted. */
  readonly late?: readonly string[];
  /** How often some of these had failed by then: a parent's restarts must not make them fail without end. */
  readonly failures?: Readonly<Record<string, number>>;
}

/** Throws `STORE_CORRUPT` if something else wrote under the name. */
export function readStoredActor(text: string | undefined): StoredActor | undefined {
  if (text === undefined) return undefined;
  const end = text.indexOf("\n");
  const first = tryParseJson(text.slice(0, end));
  const stored: unknown = isObject(first) && end > 0 ? { ...first, lines: text.slice(end + 1) } : undefined;
  if (isStoredActor(stored)) return stored;
  throw new StoreError("STORE_CORRUPT", `The state key "${ACTOR_KEY}" holds no actor: let nothing else write to these virtual objects.`);
}

/** Throws if it cannot be JSON. */
export const storedActorText = ({ lines, ...first }: StoredActor): string => `${JSON.stringify(first)}\n${lines}`;

export function readHealth(text: string | undefined): Health {
  const value = tryParseJson(text);
  if (!isObject(value)) return { times: [] };
  const { times, why } = value;
  return {
    times: Array.isArray(times) ? times.filter((time) => typeof time === "number") : [],
    ...(typeof why === "string" ? { why } : {}),
  };
}

export const isStarted = (stored: StoredActor | undefined): boolean => stored !== undefined && stored.row.status !== "stopped";

/** For the current life, or for the one that the next message would start. */
export async function healthOf(context: DurableReader, stored: StoredActor | undefined): Promise<Health> {
  return isStarted(stored) ? (stored?.health ?? { times: [] }) : readHealth(await context.get(HEALTH_KEY));
}

const isEvent = (value: unknown): value is ChainEvent =>
  isObject(value) && typeof value["id"] === "string" && typeof value["header"] === "string";

export const isEvents = (value: unknown): value is readonly ChainEvent[] => Array.isArray(value) && value.every(isEvent);

export function isStoredReply(value: unknown): value is StoredReply {
  if (!isObject(value)) return false;
  const { key, call, until, reply, seq, head } = value;
  return (
    typeof key === "string" &&
    typeof call === "string" &&
    typeof until === "number" &&
    isObject(reply) &&
    typeof seq === "number" &&
    typeof head === "string"
  );
}

const isBlockTotals = (value: unknown): value is BlockTotals =>
  isObject(value) && typeof value["blocks"] === "number" && typeof value["events"] === "number" && typeof value["characters"] === "number";

function isStoredActor(value: unknown): value is StoredActor {
  if (!isObject(value)) return false;
  const { row, state, bytes, seq, head, since, own, held, lines, replies } = value;
  return (
    isObject(row) &&
    typeof row["life"] === "string" &&
    typeof row["version"] === "number" &&
    isObject(row["wakes"]) &&
    isObject(row["pending"]) &&
    state !== undefined &&
    typeof bytes === "number" &&
    typeof seq === "number" &&
    typeof head === "string" &&
    isObject(since) &&
    typeof own === "number" &&
    isBlockTotals(held) &&
    typeof lines === "string" &&
    Array.isArray(replies) &&
    replies.every(isStoredReply)
  );
}

// ── blocks of older events ─────────────────────────────────────────────────────

/** Events in one block. */
const BLOCK_EVENTS = 8;
/** Blocks that are archived together: as many events as an archive segment has. */
const MAX_BLOCKS = 4;
/** Long events are moved earlier. */
const BLOCK_CHARACTERS = 4_096;
const MAX_BLOCK_CHARACTERS = 16_384;

export const NO_BLOCKS: BlockTotals = { blocks: 0, events: 0, characters: 0 };

const blockKey = (n: number): string => `block/${n}`;
export const isBlockKey = (name: string): boolean => name.startsWith("block/");

/** How a turn makes room for its event. */
export interface BlockPlan {
  /** What is archived: the blocks; all events; or nothing. */
  readonly toArchive: "blocks" | "all" | "none";
  /** The newest events become a block. */
  readonly addsBlock: boolean;
}

/** `isNewLife`: the chain continues with another life. */
export function planBlocks({ own, lines, held }: StoredActor, isNewLife: boolean): BlockPlan {
  if (isNewLife) return { toArchive: "all", addsBlock: false };
  if (own < BLOCK_EVENTS && lines.length <= BLOCK_CHARACTERS) return { toArchive: "none", addsBlock: false };
  if (held.characters + lines.length > MAX_BLOCK_CHARACTERS) return { toArchive: "all", addsBlock: false };
  return { toArchive: held.blocks === MAX_BLOCKS ? "blocks" : "none", addsBlock: true };
}

/** A block to set, or to clear if it has no text. */
export interface Block {
  readonly name: string;
  readonly text: string | undefined;
}

/** The blocks to write, and the totals afterwards. */
export function blocksAfter(
  { seq, own, lines, held }: StoredActor,
  { toArchive, addsBlock }: BlockPlan,
): { readonly held: BlockTotals; readonly blocks: readonly Block[] } {
  const stays = toArchive === "none" ? held : NO_BLOCKS;
  const blocks: Block[] = [];
  // Archived blocks would still travel with each turn.
  for (let n = stays.blocks; n < held.blocks; n += 1) blocks.push({ name: blockKey(n), text: undefined });
  if (!addsBlock) return { held: stays, blocks };
  blocks.push({ name: blockKey(stays.blocks), text: `${seq - own + 1} ${own}\n${lines}` });
  return { held: { blocks: stays.blocks + 1, events: stays.events + own, characters: stays.characters + lines.length }, blocks };
}

/** The lines in the blocks, oldest first. Throws `STORE_CONFLICT` if they have changed since the actor was read. */
export async function blockLines(context: DurableReader, id: ActorId, { seq, own, held }: StoredActor): Promise<string> {
  const texts: string[] = [];
  let next = seq - own - held.events + 1;
  for (let n = 0; n < held.blocks; n += 1) {
    // Stopping an actor uses this too, and must not be cancelled.
    const text = (await uncancellable(() => context.get(blockKey(n)))) ?? "";
    const [, first, count] = /^(\d+) (\d+)\n/.exec(text) ?? [];
    if (Number(first) !== next) throw blocksChanged(id);
    next += Number(count);
    texts.push(text.slice(text.indexOf("\n") + 1));
  }
  if (next !== seq - own + 1) throw blocksChanged(id);
  return texts.join("\n");
}

const blocksChanged = (id: ActorId): StoreError => new StoreError("STORE_CONFLICT", `The older events of ${id} have moved: ask again.`);
