/**
 * Where actors are found without their ids: by kind, owner, uid, parent. An actor is entered before it begins, so
 * whoever lists asks each one whether it is there; one that is there is never missing.
 */
import { sha256 } from "../../core/chain/index.ts";
import { type ActorId, EngineError } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import type { DurableContext, Handler } from "./durable-context.ts";
import type { Names } from "./names.ts";
import { shardOf } from "./map-client.ts";
import { isGuarded } from "./outcome.ts";

/** A map, and over how many objects it is spread. */
export interface DirectoryMap {
  readonly name: string;
  readonly shards: number;
}

export const actorsOfKind = (kind: string): DirectoryMap => ({ name: `kind/${kind}`, shards: 16 });
/** By the digest: a principal may be anything. */
export const actorsOfOwner = (owner: string): DirectoryMap => ({ name: `owner/${sha256(owner).slice(0, 32)}`, shards: 1 });
export const UIDS: DirectoryMap = { name: "uid", shards: 64 };
export const childrenOf = (parent: ActorId): DirectoryMap => ({ name: `children/${parent}`, shards: 1 });
export const DEAD_LETTERS: DirectoryMap = { name: "letters", shards: 1 };
/** Indexes over the contents of actors, by their names: what they are of. */
export const INDEX_LIST: DirectoryMap = { name: "indexes", shards: 1 };
/** Keyed calls of kinds that are reached by links: a link may lead elsewhere when the call comes again (C4). */
export const CLAIMS: DirectoryMap = { name: "claims", shards: 64 };

export const mapHandler = (names: Names, { name, shards }: DirectoryMap, key: string, handler: string): Handler => ({
  object: names.map,
  key: shardOf(name, shards, key),
  handler,
});

export interface DirectoryEntry {
  readonly id: ActorId;
  readonly uid: string;
  /** It never was before. */
  readonly first: boolean;
  readonly owner: string | undefined;
  readonly ownerBefore: string | undefined;
  readonly parent: ActorId | undefined;
}

/** Settles when all of it is there. An error: not all of it fits. */
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

/** Whether a map has taken what it was to put. */
export const isPut = (answer: unknown): boolean => isGuarded(answer) && "value" in answer;

/** An actor that exists is always found, so one that could not be must not begin. No `STORE_FULL`: no disk is, and trying again would not help. */
export const directoryFull = (id: ActorId): EngineError =>
  new EngineError(
    "STATE_TOO_LARGE",
    `${id} cannot be noted where actors are found: there are as many of its kind, owner or parent as fit. Use others, or shorter keys.`,
  );

/** Takes back what `enter` put, or was about to: the actor does not begin. */
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
