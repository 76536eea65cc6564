/**
 * An actor on its way in from another place, or out to one. While it comes it is kept from beginning here: its key says that it
 * has failed, and why. What came of it is in its archive, where nobody looks before its own key is written, in one turn.
 */
import { importLine, readHeader } from "../../core/chain/index.ts";
import { atMostBytes, hasParent, type Kind, type SinceFull } from "../../core/chain/internal.ts";
import { StoreError, type ActorId, type Json, type Row } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import { NOTHING_HELD } from "./blocks.ts";
import { enter, type Entered, takeBack } from "./directory.ts";
import type { DurableContext, DurableReader } from "./durable-context.ts";
import type { ExpireInput, RingInput } from "./inputs.ts";
import { sendRows } from "./index-sends.ts";
import { isObject } from "./is-object.ts";
import { ACTOR_KEY, HEALTH_KEY, keptText, readHealth, readKept, type Health, type Kept, type KeptReply } from "./kept.ts";
import { eventsIn } from "./lines.ts";
import type { NodeHost } from "./node-host.ts";
import { isGuarded } from "./outcome.ts";

/** All that an actor's own key tells beside its events. */
export interface Whole {
  readonly row: Row;
  readonly seq: number;
  readonly head: string;
  readonly replies: readonly KeptReply[];
  readonly archived: boolean;
}

/** What an actor that comes is answered. A conflict is a value: to be told so is no reason to ask again. */
export interface Arrived {
  readonly there: boolean;
  /** Keyed calls of its kind are found by their keys alone. */
  readonly claims: boolean;
  readonly conflict?: string;
}

/** The last word on an actor that has come. */
export interface SettleInput {
  readonly row: Row;
  readonly state: Json;
  readonly seq: number;
  readonly head: string;
  readonly since: SinceFull;
  /** The last event, as it is exported; those before it are in the archive. */
  readonly line: string;
  readonly archived: boolean;
}

const coming = (head: string): string => `it is being imported, up to the event ${head}, and has not come to its end: import it again`;

/** Shared. */
export async function whole(context: DurableReader): Promise<Whole | undefined> {
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept === undefined) return undefined;
  const { row, seq, head, replies, archived } = kept;
  return { row, seq, head, replies, archived: archived === true };
}

/** Exclusive, as all that follow. */
export async function arrive(context: DurableContext, host: NodeHost, kind: Kind, id: ActorId, head: string): Promise<Arrived> {
  const { names } = host;
  const claims = hasParent(kind);
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept !== undefined) {
    // One that came with that head may have gone on since.
    if (kept.head === head || valueOf(await context.call(names.archive(id, "arrived"), null)) === head) return { there: true, claims };
    return { there: true, claims, conflict: `${id} is there already with another chain: its event ${kept.seq} is ${kept.head}.` };
  }
  await context.call(names.archive(id, "clear"), null);
  const health: Health = { times: [], why: coming(head) };
  context.set(HEALTH_KEY, JSON.stringify(health));
  return { there: false, claims };
}

/** Nothing of it stays. */
export async function leave(context: DurableContext, host: NodeHost, id: ActorId, head: string): Promise<void> {
  if (!(await isComing(context, head)) || (await context.get(ACTOR_KEY)) !== undefined) return;
  await context.call(host.names.archive(id, "clear"), null);
  context.clear(HEALTH_KEY);
}

/** From here on it is there. Undefined, or why not. */
export async function settle(context: DurableContext, host: NodeHost, id: ActorId, input: SettleInput): Promise<string | undefined> {
  const { head, row } = input;
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept !== undefined) return kept.head === head ? undefined : `${id} has begun meanwhile.`;
  if (!(await isComing(context, head))) return `The import of ${id} was given up meanwhile.`;
  const text = keptTextOf(id, input);
  const { uid, owner, parent, status } = row;
  const entered: Entered = {
    id,
    uid,
    first: true,
    owner,
    ownerBefore: undefined,
    parent: status === "stopped" ? undefined : parent,
  };
  const refused = await enter(context, host.names, entered);
  if (refused !== undefined) {
    takeBack(context, host.names, entered);
    throw refused;
  }
  await context.call(host.names.archive(id, "arrive"), head);
  context.set(ACTOR_KEY, text);
  context.clear(HEALTH_KEY);
  if (status !== "stopped") sendRows(context, host, kindOf(id), { id, seq: input.seq, owner, state: input.state, version: row.version });
  return undefined;
}

/** Sets the timers of what has come. Twice is once: a timer whose wake has rung finds nothing to do. */
export async function wind(context: DurableContext, host: NodeHost, id: ActorId): Promise<void> {
  const kept = readKept(await context.get(ACTOR_KEY));
  if (kept === undefined || kept.row.status === "stopped") return;
  const { life, wakes, policy, lastMessageAt } = kept.row;
  const now = Number(await context.run("now", async () => host.now()));
  for (const [name, { at }] of Object.entries(wakes)) {
    const ring: RingInput = { name, life, at, failures: 0 };
    context.send(host.names.actor(id, "ring"), ring, Math.max(0, at - now));
  }
  const { expireMs } = policy ?? {};
  const expire: ExpireInput = { life };
  if (expireMs !== undefined) context.send(host.names.actor(id, "expire"), expire, Math.max(0, lastMessageAt + expireMs - now));
}

const isComing = async (context: DurableReader, head: string): Promise<boolean> =>
  readHealth(await context.get(HEALTH_KEY)).why === coming(head);

function keptTextOf(id: ActorId, { row, state, seq, head, since, line, archived }: SettleInput): string {
  const event = importLine(line);
  const { seq: last, parent } = readHeader(event);
  if (event.id !== head || last !== seq) throw new StoreError("STORE_CORRUPT", "The last event of an import is another than it says.");
  try {
    const next: Kept = {
      row,
      state,
      bytes: atMostBytes(state),
      seq,
      head,
      since,
      own: 1,
      held: NOTHING_HELD,
      // As `lines.ts` has it: those that follow it are told by their life and by what is before them.
      lines: `life ${row.life} ${parent ?? "-"}\n${line}`,
      replies: [],
      ...(archived ? { archived } : {}),
    };
    const text = keptText(next);
    readKept(text);
    if (eventsIn(id, next.lines, seq).length !== 1) throw new RangeError("Its life is no word.");
    return text;
  } catch (error) {
    throw new StoreError("STORE_CORRUPT", "What is to be an actor is none: import what was exported.", { cause: error });
  }
}

const valueOf = (answer: unknown): unknown => (isGuarded(answer) && "value" in answer ? answer.value : undefined);

export const isWhole = (value: unknown): value is Whole =>
  isObject(value) &&
  isObject(value["row"]) &&
  typeof value["seq"] === "number" &&
  typeof value["head"] === "string" &&
  Array.isArray(value["replies"]);

export const isArrived = (value: unknown): value is Arrived =>
  isObject(value) && typeof value["there"] === "boolean" && typeof value["claims"] === "boolean";

/** Whoever reaches the ingress can send anything; what is in it is held to its form where it is kept. */
export const isSettleInput = (value: unknown): value is SettleInput =>
  isObject(value) &&
  isObject(value["row"]) &&
  typeof value["row"]["uid"] === "string" &&
  value["state"] !== undefined &&
  typeof value["seq"] === "number" &&
  typeof value["head"] === "string" &&
  isObject(value["since"]) &&
  typeof value["line"] === "string" &&
  typeof value["archived"] === "boolean";
