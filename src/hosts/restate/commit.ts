/**
 * From a planned turn to what is set and sent.
 *
 * C5: what a turn sends is journalled after its state: the server delivers it in that order, once.
 * Law 2: an actor's stop is set first, then its children stop, then it is told of.
 */
import { hasParent, type CallKey, faults, type Kind, letterReason, type Plan } from "../../core/chain/internal.ts";
import { sha256 } from "../../core/chain/index.ts";
import { EngineError, StoreError, type ActorId, type Message } from "../../core/contract/index.ts";
import { hasOwn, isAddress, kindOf } from "../../core/contract/internal.ts";
import { heldLines, roomIn, type Room } from "./blocks.ts";
import { childrenOf, enter, type Entered, isPut, noRoom, objectOf, ofClaims, ofLetters, takeBack } from "./directory.ts";
import { type DurableContext, Withdrawn } from "./durable-context.ts";
import type { ExpireInput, RestartInput, RingInput, StopInput, TurnInput } from "./inputs.ts";
import { sendChanges } from "./index-sends.ts";
import { insist } from "./insist.ts";
import { ACTOR_KEY, type Kept } from "./kept.ts";
import { isListed } from "./map-client.ts";
import type { NodeHost } from "./node-host.ts";
import { faultOf, isGuarded, type Guarded, type Told } from "./outcome.ts";
import type { Place } from "./place.ts";
import { writtenBy } from "./written.ts";

/** How an actor ends that does not end by itself. */
export interface Parting {
  /** Who is stopping already, and need not be told. */
  readonly above: readonly ActorId[];
  readonly parentKnows: boolean;
  /** Its end is no message. Absent: it ends by one. */
  readonly lastMessageAt?: number;
}

export interface Commit {
  readonly context: DurableContext;
  readonly host: NodeHost;
  readonly kind: Kind;
  readonly place: Place;
  readonly plan: Plan;
  /** Of a keyed call. */
  readonly claim: CallKey | undefined;
  /** A turn sent the message. */
  readonly sent: boolean;
  readonly parting: Parting;
}

/** A fault: nothing has been applied. Whatever the context rejects with once something was set only delays the rest. */
export async function commit(turn: Commit): Promise<Guarded<{ readonly change: Told }>> {
  const { context, host, kind, place, plan, claim, parting } = turn;
  const { id, message } = plan;
  const room = place.kept === undefined ? NO_NEED : roomIn(place.kept, plan.born);
  const held = await leavingLines(context, id, place.kept, room);
  if (hasOwn(held, "fault")) return held;
  let written;
  try {
    written = writtenBy(kind, place, plan, place.kept?.health, { room, held: held.value }, parting.lastMessageAt);
  } catch (error) {
    if (error instanceof EngineError) return { fault: faultOf(error) };
    host.fault(error, { where: "turn", message });
    return { fault: faultOf(faults.crashed(id, plan.seq, error)) };
  }
  const claims = claim !== undefined && (plan.remembered.length > 0 || plan.claimed !== undefined) && hasParent(kind);
  const claimed = claims ? claimKey(kind.name, claim.key) : undefined;
  const entered = plan.born ? enteredBy(turn) : undefined;
  try {
    const refused = (entered && (await begin(turn, entered))) ?? (claimed === undefined ? undefined : await claimWith(turn, claimed));
    if (refused !== undefined) {
      if (entered !== undefined) takeBack(context, host.names, entered);
      return { fault: faultOf(refused) };
    }
  } catch (error) {
    if (entered !== undefined && error instanceof Withdrawn) takeBack(context, host.names, entered);
    throw error;
  }
  const { text, life, sealed, blocks, timers, out, change } = written;
  for (const part of sealed) context.send(host.names.archive(id, "put"), part);
  for (const block of blocks)
    if (block.text === undefined) context.clear(block.name);
    else context.set(block.name, block.text);
  context.set(ACTOR_KEY, text);
  sendChanges(context, host, kind.name, place, plan);
  if (plan.stop !== undefined) {
    // One that ends with its parent is left out by that.
    const { parent } = plan.extra;
    if (parent !== undefined && !parting.parentKnows) context.send(objectOf(host.names, childrenOf(parent), id, "delete"), { key: id });
    await stopChildren(context, host, id, parting.above, message);
  }
  // Before what it sends them: that is for who has been restarted.
  for (const child of plan.restart ?? []) {
    const restart: RestartInput = { by: id };
    if (host.knows(kindOf(child))) context.send(host.names.actor(child, "restart"), restart);
  }
  for (const sent of out) deliver(context, host, sent);
  for (const { name, wake } of timers) {
    const ring: RingInput = { name, life, at: wake.at, failures: 0 };
    context.send(host.names.actor(id, "ring"), ring, Math.max(0, wake.at - host.now()));
  }
  if (claimed !== undefined) context.send(objectOf(host.names, ofClaims, claimed, "delete"), { key: claimed }, host.keyMs);
  const { expireMs } = plan.extra.policy;
  if (plan.born && plan.stop === undefined && expireMs !== undefined && Number.isFinite(expireMs)) {
    const expire: ExpireInput = { life };
    context.send(host.names.actor(id, "expire"), expire, expireMs);
  }
  host.hint({ id, ...change }, message);
  if (plan.report !== undefined) host.report(plan.report);
  return { value: { change } };
}

const NO_NEED: Room = { leave: "none", rolls: false };

async function leavingLines(context: DurableContext, id: ActorId, kept: Kept | undefined, { leave }: Room): Promise<Guarded<string>> {
  if (kept === undefined || leave === "none") return { value: "" };
  try {
    return { value: await heldLines(context, id, kept) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Nobody else writes during a turn: what does not fit now never will, and asking again would hold the key for ever.
    return { fault: faultOf(faults.fromStore(damaged(id, error))) };
  }
}

const damaged = (id: ActorId, cause: StoreError): StoreError =>
  new StoreError("STORE_CORRUPT", `The older events of ${id} are not as it says: let nothing else write to these virtual objects.`, {
    cause,
  });

/** Escaped where its digest would be that of other keys. */
export const claimKey = (kind: string, key: string): string =>
  sha256(key.isWellFormed() ? `${kind}\n${key}` : `${kind}\t${JSON.stringify(key)}`);

/** A message that a turn sent: to its actor, or where no node serves such, to the dead letters. */
export function deliver(context: DurableContext, host: NodeHost, message: Message): void {
  const kind = kindOf(message.to);
  if (!host.knows(kind)) return bury(context, host, message, faults.unknownKind(kind));
  const input: TurnInput = { message };
  context.send(host.names.actor(message.to, "deliver"), host.sealerFor(kind).seal(input));
}

/** C5: a message that has failed too often is kept where people see it. */
export function bury(context: DurableContext, host: NodeHost, message: Message, error: EngineError, thrown?: string): void {
  const { at, id } = message;
  const key = `${String(at).padStart(15, "0")} ${id}`;
  const sealed = host.sealerFor(kindOf(message.to)).seal(message);
  context.send(objectOf(host.names, ofLetters, key, "put"), {
    key,
    value: { message: sealed, why: letterReason(error, message.to, thrown), at },
  });
  host.fault(error, { where: "outbox", message });
}

const enteredBy = ({ place, plan: { id, life, extra } }: Commit): Entered => ({
  id,
  uid: extra.uid ?? life,
  first: place.kept === undefined,
  owner: extra.owner,
  ownerBefore: place.kept?.row.owner,
  parent: extra.parent,
});

/** Enters the actor where it is found. An error: it must not begin. */
async function begin({ context, host, plan: { id, message }, sent }: Commit, entered: Entered): Promise<EngineError | undefined> {
  const { parent } = entered;
  const refused = await enter(context, host.names, entered);
  if (refused !== undefined) return refused;
  if (!sent || parent === undefined || message.from === undefined) return undefined;
  // After the child can be found: either this sees that the parent has stopped, or the parent's stop sees the child.
  const lives = await context.call(host.names.actor(parent, "lives"), message.id);
  return lives === true ? undefined : faults.parentStopped(id, parent);
}

/** C4: whose the key is. An error: it could not be noted. */
async function claimWith({ context, host, plan: { id, message } }: Commit, key: string): Promise<EngineError | undefined> {
  const value = { id, until: message.at + host.keyMs };
  return isPut(await context.call(objectOf(host.names, ofClaims, key, "put"), { key, value })) ? undefined : noRoom(id);
}

const PAGE = 100;

/** Children first, one after the other; none is left out, whatever becomes of the others, and whoever cancels: something was set. */
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
    const listed = await insist(() =>
      context.call(objectOf(host.names, index, "", "list"), { limit: PAGE, ...(after === undefined ? {} : { after }) }),
    );
    const children = keysOf(listed);
    for (const child of children) {
      if (isAddress(child) && !down.includes(child) && host.knows(kindOf(child))) await stopChild(context, host, child, down, message);
      context.send(objectOf(host.names, index, child, "delete"), { key: child });
    }
    after = children.at(-1);
    if (children.length < PAGE) return;
  }
}

async function stopChild(
  context: DurableContext,
  host: NodeHost,
  child: ActorId,
  above: readonly ActorId[],
  message: Message,
): Promise<void> {
  const { names } = host;
  const reason = `its parent ${above.at(-1) ?? ""} stops`;
  const stop: StopInput = {
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
  const working = await insist(() => context.call(names.actor(child, "working"), above.at(-1) ?? null));
  if (typeof working === "string") context.send({ object: names.control, handler: "cancel" }, working);
  await insist(() => context.call(names.actor(child, "stop"), stop));
}

const keysOf = (answer: unknown): readonly string[] =>
  isGuarded(answer) && "value" in answer && isListed(answer.value) ? answer.value.entries.map(([key]) => key) : [];
