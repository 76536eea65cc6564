/**
 * An actor's older events, beside its own key, until there are enough of them for the archive. What is in its own key is read and
 * written with each turn, which goes through the server's log both ways; a block is written once.
 */
import { StoreError, type ActorId } from "../../core/contract/index.ts";
import type { DurableReader } from "./durable-context.ts";
import { insist } from "./insist.ts";
import type { Held, Kept } from "./kept.ts";

/** Events in one block. */
const BLOCK_EVENTS = 8;
/** Blocks that leave together: as many events as the archive has under one name. */
const MOST_BLOCKS = 4;
/** What is long leaves sooner. */
const BLOCK_CHARACTERS = 4_096;
const MOST_CHARACTERS = 16_384;

export const NOTHING_HELD: Held = { blocks: 0, events: 0, characters: 0 };

const blockKey = (n: number): string => `block/${n}`;
export const isBlockKey = (name: string): boolean => name.startsWith("block/");

/** What makes room for the next event. */
export interface Room {
  /** To the archive go the blocks, or they and the newest lines; or nothing. */
  readonly leave: "blocks" | "all" | "none";
  /** The newest lines become a block. */
  readonly rolls: boolean;
}

/** `born`: the chain goes on with another life. */
export function roomIn({ own, lines, held }: Kept, born: boolean): Room {
  if (born) return { leave: "all", rolls: false };
  if (own < BLOCK_EVENTS && lines.length <= BLOCK_CHARACTERS) return { leave: "none", rolls: false };
  if (held.characters + lines.length > MOST_CHARACTERS) return { leave: "all", rolls: false };
  return { leave: held.blocks === MOST_BLOCKS ? "blocks" : "none", rolls: true };
}

/** A block as it is set, or with no text where it is cleared. */
export interface Block {
  readonly name: string;
  readonly text: string | undefined;
}

/** What becomes of the blocks, and what of them there is then. */
export function blocksAfter(
  { seq, own, lines, held }: Kept,
  { leave, rolls }: Room,
): { readonly held: Held; readonly blocks: readonly Block[] } {
  const stays = leave === "none" ? held : NOTHING_HELD;
  const blocks: Block[] = [];
  // What has left would still travel with each turn.
  for (let n = stays.blocks; n < held.blocks; n += 1) blocks.push({ name: blockKey(n), text: undefined });
  if (!rolls) return { held: stays, blocks };
  blocks.push({ name: blockKey(stays.blocks), text: `${seq - own + 1} ${own}\n${lines}` });
  return { held: { blocks: stays.blocks + 1, events: stays.events + own, characters: stays.characters + lines.length }, blocks };
}

/** The lines that are held, oldest first. Throws `STORE_CONFLICT` where they have changed since `kept` was read. */
export async function heldLines(context: DurableReader, id: ActorId, { seq, own, held }: Kept): Promise<string> {
  const texts: string[] = [];
  let next = seq - own - held.events + 1;
  for (let n = 0; n < held.blocks; n += 1) {
    // Whoever cancels: an actor's end comes this way too.
    const text = (await insist(() => context.get(blockKey(n)))) ?? "";
    const [, first, count] = /^(\d+) (\d+)\n/.exec(text) ?? [];
    if (Number(first) !== next) throw changed(id);
    next += Number(count);
    texts.push(text.slice(text.indexOf("\n") + 1));
  }
  if (next !== seq - own + 1) throw changed(id);
  return texts.join("\n");
}

const changed = (id: ActorId): StoreError => new StoreError("STORE_CONFLICT", `The older events of ${id} have moved: ask again.`);
