import type { SinceFull } from "../../core/chain/internal.ts";
import { StoreError, type ChainEvent, type Json, type Remembered, type Row, type ActorId } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { type DurableReader, uncancellable } from "./durable-context.ts";
import { isObject } from "./handler-inputs.ts";

/**
 * What an actor is on Restate: one state key written once per turn; older events and replies are in its archive.
 *
 * C6: the server runs one turn per key at a time and drops the writes of an attempt
 * that was superseded, so a head is never extended twice.
 * C7: nothing is kept beside the chain but what follows from it: `state` is what its
 * events tell.
 */

/** Name of the state key. All of an actor's keys travel with each of its turns, so it has few and they are short. */
export const ACTOR_KEY = "actor";
/** Set while work runs: the invocation to cancel. */
export const WORK_KEY = "work";
/** Why an actor that has not begun, or has stopped, has failed: its first state could not be made. */
export const HEALTH_KEY = "health";
/** Of an actor that expires: when a message came that left no event. */
export const SEEN_KEY = "seen";

export interface StoredActor {
  readonly row: Row;
  readonly state: Json;
  /** An upper bound of the state's bytes. */
  readonly bytes: number;
  readonly seq: number;
  readonly head: string;
  /** What decides when the next whole state is written. */
  readonly since: SinceFull;
  /** How many of the newest events are here. */
  readonly own: number;
  /** Those before them (`blocks.ts`); all that are older are in the archive. */
  readonly held: BlockTotals;
  /** These (`lines.ts`): turns add to them and do not look at them. All are of this life. */
  readonly lines: string;
  /** The newest replies to keyed calls, and to calls that were told "later" (C4). */
  readonly replies: readonly StoredReply[];
  /** The archive has replies too. */
  readonly archived?: true;
  /** Of this life, where its kind bounds crashes. */
  readonly health?: Health;
}

export interface BlockTotals {
  readonly blocks: number;
  readonly events: number;
  readonly characters: number;
}

/** A reply that is given again, and the event it came with. */
export interface StoredReply extends Remembered {
  readonly seq: number;
  readonly head: string;
}

export interface Health {
  /** Of crashes, in milliseconds since 1970. */
  readonly times: readonly number[];
  /** Why the actor has failed. */
  readonly why?: string;
}

/** Throws `STORE_CORRUPT` where something else wrote under the name. */
export function readStoredActor(text: string | undefined): StoredActor | undefined {
  if (text === undefined) return undefined;
  const end = text.indexOf("\n");
  const first = tryParseJson(text.slice(0, end));
  const stored: unknown = isObject(first) && end > 0 ? { ...first, lines: text.slice(end + 1) } : undefined;
  if (isStoredActor(stored)) return stored;
  throw new StoreError("STORE_CORRUPT", `The state key "${ACTOR_KEY}" holds no actor: let nothing else write to these virtual objects.`);
}

/** Throws where there is no JSON of it. */
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

/** Of the life that it is in, or that its next message would begin. */
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

/** What an archive or an actor answers when it is asked for a reply, where it has one. */
export const hasStoredReply = (answer: unknown): answer is { readonly value: StoredReply } =>
  isObject(answer) && isStoredReply(answer["value"]);

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

/**
 * An actor's older events, beside its own key, until there are enough of them for the archive. What is in its own key is read and
 * written with each turn, which goes through the server's log both ways; a block is written once.
 */

/** Events in one block. */
const BLOCK_EVENTS = 8;
/** Blocks that leave together: as many events as the archive has under one name. */
const MAX_BLOCKS = 4;
/** What is long leaves sooner. */
const BLOCK_CHARACTERS = 4_096;
const MAX_BLOCK_CHARACTERS = 16_384;

export const NO_BLOCKS: BlockTotals = { blocks: 0, events: 0, characters: 0 };

const blockKey = (n: number): string => `block/${n}`;
export const isBlockKey = (name: string): boolean => name.startsWith("block/");

/** What makes room for the next event. */
export interface BlockPlan {
  /** To the archive go the blocks, or they and the newest lines; or nothing. */
  readonly toArchive: "blocks" | "all" | "none";
  /** The newest lines become a block. */
  readonly addsBlock: boolean;
}

/** `born`: the chain goes on with another life. */
export function planBlocks({ own, lines, held }: StoredActor, isNewLife: boolean): BlockPlan {
  if (isNewLife) return { toArchive: "all", addsBlock: false };
  if (own < BLOCK_EVENTS && lines.length <= BLOCK_CHARACTERS) return { toArchive: "none", addsBlock: false };
  if (held.characters + lines.length > MAX_BLOCK_CHARACTERS) return { toArchive: "all", addsBlock: false };
  return { toArchive: held.blocks === MAX_BLOCKS ? "blocks" : "none", addsBlock: true };
}

/** A block as it is set, or with no text where it is cleared. */
export interface Block {
  readonly name: string;
  readonly text: string | undefined;
}

/** What becomes of the blocks, and what of them there is then. */
export function blocksAfter(
  { seq, own, lines, held }: StoredActor,
  { toArchive, addsBlock }: BlockPlan,
): { readonly held: BlockTotals; readonly blocks: readonly Block[] } {
  const stays = toArchive === "none" ? held : NO_BLOCKS;
  const blocks: Block[] = [];
  // What has left would still travel with each turn.
  for (let n = stays.blocks; n < held.blocks; n += 1) blocks.push({ name: blockKey(n), text: undefined });
  if (!addsBlock) return { held: stays, blocks };
  blocks.push({ name: blockKey(stays.blocks), text: `${seq - own + 1} ${own}\n${lines}` });
  return { held: { blocks: stays.blocks + 1, events: stays.events + own, characters: stays.characters + lines.length }, blocks };
}

/** The lines that are held, oldest first. Throws `STORE_CONFLICT` where they have changed since `kept` was read. */
export async function blockLines(context: DurableReader, id: ActorId, { seq, own, held }: StoredActor): Promise<string> {
  const texts: string[] = [];
  let next = seq - own - held.events + 1;
  for (let n = 0; n < held.blocks; n += 1) {
    // Whoever cancels: an actor's end comes this way too.
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
