// Owns: the maps by which actors are found: by kind, owner, uid, parent, claimed key. Does not own: how maps are stored
// (map-object.ts).
//
// An actor is entered before it starts, so a reader of the directory also asks each actor whether it exists. An actor that exists is
// never missing.
import { sha256 } from "../../core/chain/index.ts";
import { type ActorId, EngineError } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import type { DurableContext, Handler } from "./durable-context.ts";
import type { Names } from "./names.ts";
import { shardOf } from "./map-client.ts";
import { isGuarded } from "./outcome.ts";

/** A map, and the number of virtual objects over which it is spread. */
export interface DirectoryMap {
  readonly name: string;
  readonly shards: number;
}

export const actorsOfKind = (kind: string): DirectoryMap => ({ name: `kind/${kind}`, shards: 16 });
/** By digest, since a principal may be any text. */
export const actorsOfOwner = (owner: string): DirectoryMap => ({ name: `owner/${sha256(owner).slice(0, 32)}`, shards: 1 });
export const UIDS: DirectoryMap = { name: "uid", shards: 64 };
export const childrenOf = (parent: ActorId): DirectoryMap => ({ name: `children/${parent}`, shards: 1 });
export const DEAD_LETTERS: DirectoryMap = { name: "letters", shards: 1 };
/** Ordered by time. */
export const deadLetterKey = (at: number, messageId: string): string => `${String(at).padStart(15, "0")} ${messageId}`;
/** The shape of each index over the contents of actors, by name. */
export const INDEX_LIST: DirectoryMap = { name: "indexes", shards: 1 };
/** Keyed calls to kinds that are reached by links: a link may point elsewhere when the call is repeated (C4). */
export const CLAIMS: DirectoryMap = { name: "claims", shards: 64 };

export const mapHandler = (names: Names, { name, shards }: DirectoryMap, key: string, handler: string): Handler => ({
  object: names.map,
  key: shardOf(name, shards, key),
  handler,
});

export interface DirectoryEntry {
  readonly id: ActorId;
  readonly uid: string;
  /** The actor did not exist before. */
  readonly first: boolean;
  readonly owner: string | undefined;
  readonly ownerBefore: string | undefined;
  readonly parent: ActorId | undefined;
}

/** Settles when all entries are stored. Returns an error if one does not fit. */
export async function addToDirectory(
  context: DurableContext,
  names: Names,
  { id, uid, first, owner, ownerBefore, parent }: DirectoryEntry,
): Promise<EngineError | undefined> {
  const put = (index: DirectoryMap, key: string, value: string | null): readonly [Handler, unknown] => [
    mapHandler(names, index, key, "put"),
    { key, value },
  ];
  if (owner !== ownerBefore && ownerBefore !== undefined)
    context.send(mapHandler(names, actorsOfOwner(ownerBefore), id, "delete"), { key: id });
  const answers = await context.callAll([
    ...(first ? [put(actorsOfKind(kindOf(id)), id, null), put(UIDS, uid, id)] : []),
    ...(owner === ownerBefore || owner === undefined ? [] : [put(actorsOfOwner(owner), id, null)]),
    ...(parent === undefined ? [] : [put(childrenOf(parent), id, null)]),
  ]);
  return answers.every(isPut) ? undefined : directoryFull(id);
}

/** True if the map stored the entry. */
export const isPut = (answer: unknown): boolean => isGuarded(answer) && "value" in answer;

/**
 * An actor that exists can always be found, so one that cannot be entered must not start. It is not `STORE_FULL`, since no disk is full and
 * a retry would not help.
 */
export const directoryFull = (id: ActorId): EngineError =>
  new EngineError(
    "STATE_TOO_LARGE",
    `${id} cannot be noted where actors are found: there are as many of its kind, owner or parent as fit. Use others, or shorter keys.`,
  );

/** Removes what `addToDirectory` added, or was about to add: the actor does not start. */
export function removeFromDirectory(
  context: DurableContext,
  names: Names,
  { id, uid, first, owner, ownerBefore, parent }: DirectoryEntry,
): void {
  const remove = (index: DirectoryMap, key: string): void => context.send(mapHandler(names, index, key, "delete"), { key });
  if (first) {
    remove(actorsOfKind(kindOf(id)), id);
    remove(UIDS, uid);
  }
  if (owner !== ownerBefore) {
    if (owner !== undefined) remove(actorsOfOwner(owner), id);
    if (ownerBefore !== undefined) context.send(mapHandler(names, actorsOfOwner(ownerBefore), id, "put"), { key: id, value: null });
  }
  if (parent !== undefined) remove(childrenOf(parent), id);
}
