// Owns: committing a planned turn: what is set, sent and notified, in which order. Does not own: the texts that are set
// (turn-writes.ts), delivery (delivery.ts).
//
// C5: a turn's messages are journalled after its state; the server delivers them in order, once. Law 2: an actor's stop is set first,
// then its children stop, then watchers are notified.
import { type CallKey, deadLetterAnswer, faults, type Kind, letterReason, type Plan } from "../../core/chain/internal.ts";
import { sha256 } from "../../core/chain/index.ts";
import { EngineError, StoreError, type ActorId, type Message, type SetWake } from "../../core/contract/index.ts";
import { getOwn, hasOwn, isAddress, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { blockLines, planBlocks, type BlockPlan, ACTOR_KEY, type StoredActor } from "./stored-actor.ts";
import {
  childrenOf,
  addToDirectory,
  type DirectoryEntry,
  isPut,
  directoryFull,
  mapHandler,
  CLAIMS,
  DEAD_LETTERS,
  deadLetterKey,
  removeFromDirectory,
} from "./directory.ts";
import { type DurableContext, InvocationCancelled, uncancellable, type NodeHost } from "./durable-context.ts";
import type { ExpireInput, RestartInput, TimerInput, StopInput, TurnInput } from "./handler-inputs.ts";
import { sendChanges } from "./index-object.ts";
import { isMapList } from "./map-client.ts";
import { LIST_ENTRIES, type TakeQuery } from "./paged-map.ts";
import { faultOf, valueIn, type Guarded, type ActorHead } from "./outcome.ts";
import { type TurnStart, turnWrites } from "./turn-writes.ts";

/** How an actor is stopped from outside. */
export interface StopOptions {
  /** Ancestors that are stopping already, and need no notice. */
  readonly above: readonly ActorId[];
  readonly parentKnows: boolean;
  /** Set if the stop is not a message of its own. */
  readonly lastMessageAt?: number;
}

export interface Commit {
  readonly context: DurableContext;
  readonly host: NodeHost;
  readonly kind: Kind;
  readonly start: TurnStart;
  readonly plan: Plan;
  /** Key of a keyed call. */
  readonly claim: CallKey | undefined;
  /** The message was sent by a turn. */
  readonly isSent: boolean;
  readonly stopOptions: StopOptions;
}

/** A fault means that nothing was applied. Once something was set, a rejection of the context only delays the rest. */
export async function commit(turn: Commit): Promise<Guarded<{ readonly change: ActorHead }>> {
  const { context, host, kind, start, plan, claim, stopOptions } = turn;
  const { id, message } = plan;
  const blockPlan = start.stored === undefined ? NO_BLOCK_CHANGE : planBlocks(start.stored, plan.born);
  const lines = await linesForArchive(context, id, start.stored, blockPlan);
  if (hasOwn(lines, "fault")) return lines;
  let writes;
  try {
    writes = turnWrites(kind, start, plan, start.stored?.health, { blockPlan, lines: lines.value }, stopOptions.lastMessageAt);
  } catch (error) {
    if (error instanceof EngineError) return { fault: faultOf(error) };
    host.fault(error, { where: "turn", message });
    return { fault: faultOf(faults.crashed(id, plan.seq, error)) };
  }
  // Who took it is looked up for calls from outside alone: what work calls is not repeated through links.
  const isFromOutside = claim !== undefined && message.from === undefined;
  const claims = isFromOutside && (plan.remembered.length > 0 || plan.claimed !== undefined) && host.isLinked(kind.name);
  const claimed = claims ? claimKey(kind.name, claim.key) : undefined;
  const entry = plan.born ? directoryEntry(turn) : undefined;
  try {
    const error = (entry && (await enter(turn, entry))) ?? (claimed === undefined ? undefined : await putClaim(turn, claimed));
    if (error !== undefined) {
      if (entry !== undefined) removeFromDirectory(context, host.names, entry);
      return { fault: faultOf(error) };
    }
  } catch (error) {
    if (entry !== undefined && error instanceof InvocationCancelled) removeFromDirectory(context, host.names, entry);
    throw error;
  }
  const { text, life, archived, blocks, timers, out, change } = writes;
  for (const part of archived) context.send(host.names.archive(id, "put"), part);
  for (const block of blocks)
    if (block.text === undefined) context.clear(block.name);
    else context.set(block.name, block.text);
  context.set(ACTOR_KEY, text);
  sendChanges(context, host, kind.name, start, plan);
  if (plan.stop !== undefined) {
    // A child that stops with its parent is removed by the parent.
    const { parent } = plan.extra;
    if (parent !== undefined && !stopOptions.parentKnows)
      context.send(mapHandler(host.names, childrenOf(parent), id, "delete"), { key: id });
    await stopChildren(context, host, id, stopOptions.above, message);
  }
  // Before the messages to the child, which are for the restarted one.
  for (const child of plan.restart ?? []) {
    const restart: RestartInput = { by: id };
    if (host.knows(kindOf(child))) context.send(host.names.actor(child, "restart"), restart);
  }
  for (const sent of out) sendMessage(context, host, sent);
  sendTimers(context, host, id, life, timers);
  if (claimed !== undefined) dropClaimsAt(context, host, claimed, message.at + host.keyMs);
  for (const { key, until } of plan.remembered) {
    if (key === claim?.key || !host.isLinked(kind.name)) continue;
    // The reply to an earlier call: its key, which a call from outside has claimed already, stays so for as long as it is remembered.
    const earlier = claimKey(kind.name, key);
    context.send(mapHandler(host.names, CLAIMS, earlier, "put"), { key: earlier, value: { id, until } });
    dropClaimsAt(context, host, earlier, until);
  }
  const { expireMs } = plan.extra.policy;
  if (plan.born && plan.stop === undefined && expireMs !== undefined && Number.isFinite(expireMs)) {
    const expire: ExpireInput = { life };
    context.send(host.names.actor(id, "expire"), expire, expireMs);
  }
  host.hint({ id, ...change }, message);
  if (plan.report !== undefined) host.report(plan.report);
  return { value: { change } };
}

const NO_BLOCK_CHANGE: BlockPlan = { toArchive: "none", addsBlock: false };

async function linesForArchive(
  context: DurableContext,
  id: ActorId,
  stored: StoredActor | undefined,
  { toArchive: leave }: BlockPlan,
): Promise<Guarded<string>> {
  if (stored === undefined || leave === "none") return { value: "" };
  try {
    return { value: await blockLines(context, id, stored) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Nothing else writes during a turn, so a mismatch is permanent, and a retry would hold the key for ever.
    return { fault: faultOf(faults.fromStore(damagedBlocks(id, error))) };
  }
}

const damagedBlocks = (id: ActorId, cause: StoreError): StoreError =>
  new StoreError("STORE_CORRUPT", `The older events of ${id} are not as it says: let nothing else write to these virtual objects.`, {
    cause,
  });

/** Escaped if the digest would be equal to that of other keys. */
export const claimKey = (kind: string, key: string): string =>
  sha256(key.isWellFormed() ? `${kind}\n${key}` : `${kind}\t${JSON.stringify(key)}`);

/** Sets timers. One that has fired, or moved, by then finds nothing to do. */
export function sendTimers(
  context: DurableContext,
  host: NodeHost,
  id: ActorId,
  life: string,
  timers: readonly (readonly [name: string, wake: SetWake])[],
  failures: Readonly<Record<string, number>> = {},
): void {
  for (const [name, { at }] of timers) {
    const ring: TimerInput = { name, life, at, failures: getOwn(failures, name) ?? 0 };
    context.send(host.names.actor(id, "ring"), ring, Math.max(0, at - host.now()));
  }
}

/** Sends a message of a turn to its actor, or to the dead letters if no node serves its kind. */
export function sendMessage(context: DurableContext, host: NodeHost, message: Message, failures?: number): void {
  const kind = kindOf(message.to);
  if (!host.knows(kind)) return toDeadLetters(context, host, message, faults.unknownKind(kind));
  const input: TurnInput = failures === undefined ? { message } : { message, failures };
  context.send(host.names.actor(message.to, "deliver"), host.sealerFor(kind).seal(input));
}

/** C5: a message that has failed too often becomes a dead letter, which operators can see. A sender that requested a reply gets a refusal. */
export function toDeadLetters(context: DurableContext, host: NodeHost, message: Message, error: EngineError, thrown?: string): void {
  const { at } = message;
  const key = deadLetterKey(at, message.id);
  const sealed = host.sealerFor(kindOf(message.to)).seal(message);
  context.send(mapHandler(host.names, DEAD_LETTERS, key, "put"), {
    key,
    value: { message: sealed, why: letterReason(error, message.to, thrown), at },
  });
  host.fault(error, { where: "outbox", message });
  // A caller that waits for the reply must not wait forever.
  const answer = deadLetterAnswer(message, { refused: { code: error.code, message: error.message } }, message.at);
  if (answer !== undefined) sendMessage(context, host, answer);
}

const directoryEntry = ({ start, plan: { id, life, extra } }: Commit): DirectoryEntry => ({
  id,
  uid: extra.uid ?? life,
  first: start.stored === undefined,
  owner: extra.owner,
  ownerBefore: start.stored?.row.owner,
  parent: extra.parent,
});

/** Adds the actor to the directory. An error means that it must not start. */
async function enter(
  { context, host, plan: { id, message }, isSent: sent }: Commit,
  entry: DirectoryEntry,
): Promise<EngineError | undefined> {
  const { parent } = entry;
  const error = await addToDirectory(context, host.names, entry);
  if (error !== undefined) return error;
  if (!sent || parent === undefined || message.from === undefined) return undefined;
  // After the child can be found: either this call sees that the parent has stopped, or the parent's stop sees the child.
  const lives = await context.call(host.names.actor(parent, "lives"), message.id);
  return lives === true ? undefined : faults.parentStopped(id, parent);
}

/** C4: records which actor has the key. An error means that it could not be recorded. */
async function putClaim({ context, host, plan: { id, message } }: Commit, key: string): Promise<EngineError | undefined> {
  const value = { id, until: message.at + host.keyMs };
  return isPut(await context.call(mapHandler(host.names, CLAIMS, key, "put"), { key, value })) ? undefined : directoryFull(id);
}

/** By their time, and not by this key, which may be claimed anew by then. So claims of calls that were cancelled go, too. */
function dropClaimsAt(context: DurableContext, host: NodeHost, key: string, until: number): void {
  const over: TakeQuery = { before: until + 1, field: "until", limit: LIST_ENTRIES };
  context.send(mapHandler(host.names, CLAIMS, key, "take"), over, host.keyMs);
}

const PAGE = 100;

/**
 * Stops the children, a page of them at a time. None is skipped, whatever happens to the others and even if the invocation is cancelled,
 * since the stop was set already.
 */
async function stopChildren(
  context: DurableContext,
  host: NodeHost,
  id: ActorId,
  above: readonly ActorId[],
  message: Message,
): Promise<void> {
  const down = [...above, id];
  const index = childrenOf(id);
  for (let after: string | undefined; ;) {
    const listed = await uncancellable(() =>
      context.call(mapHandler(host.names, index, "", "list"), { limit: PAGE, ...omitUndefined({ after }) }),
    );
    const children = keysOf(listed);
    const stopped = children.filter(isAddress).filter((child) => !down.includes(child) && host.knows(kindOf(child)));
    const working = await uncancellable(() => context.callAll(stopped.map((child) => [host.names.actor(child, "working"), id])));
    for (const invocation of working)
      if (typeof invocation === "string") context.send({ object: host.names.control, handler: "cancel" }, invocation);
    await uncancellable(() => context.callAll(stopped.map((child) => [host.names.actor(child, "stop"), stopOf(child, down, message)])));
    for (const child of children) context.send(mapHandler(host.names, index, child, "delete"), { key: child });
    after = children.at(-1);
    if (children.length < PAGE) return;
  }
}

function stopOf(child: ActorId, above: readonly ActorId[], message: Message): StopInput {
  const reason = `its parent ${above.at(-1) ?? ""} stops`;
  return {
    message: {
      id: `${message.id}.stop.${sha256(child).slice(0, 16)}`,
      to: child,
      action: "stop",
      args: { reason },
      at: message.at,
      seed: sha256(`${message.seed}:stop:${child}`).slice(0, 32),
    },
    reason,
    above,
  };
}

function keysOf(answer: unknown): readonly string[] {
  const list = valueIn(answer);
  return isMapList(list) ? list.entries.map(([key]) => key) : [];
}
