/** What an archive does for actors that come from another place, or leave for one. */
import { StoreError, type KeyedCall } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import type { DurableReader } from "./durable-context.ts";
import { isObject } from "./is-object.ts";
import { isReply, type KeptReply } from "./kept.ts";
import { replyTo } from "./archive.ts";
import { expiriesFrom, type Expiry, isExpiry } from "./expiries.ts";

/** A keyed call that was told "later", as it was taken. */
export type Claim = Omit<KeyedCall, "reply">;

/** Of replies, and of what is due. */
export interface ArchivedCalls {
  readonly keys: readonly Expiry[];
  readonly due: readonly Claim[];
  /** Where to go on asking; absent: that is all. */
  readonly next?: number;
}

/** Calls that came without their reply. */
const DUE_KEY = "due";
/** With which head the actor came. */
const ARRIVED_KEY = "arrived";
/** Of JSON in one answer, which has one reply at least. */
const ANSWER_CHARACTERS = 262_144;

interface Writer extends DurableReader {
  set(name: string, text: string): void;
}

/** Exclusive. */
export async function addDue(context: Writer, claims: unknown): Promise<void> {
  if (!Array.isArray(claims) || !claims.every(isClaim)) throw new StoreError("STORE_CORRUPT", "These are no keyed calls.");
  const came = new Set(claims.map(({ key }) => key));
  const others = readDue(tryParseJson(await context.get(DUE_KEY))).filter(({ key }) => !came.has(key));
  context.set(DUE_KEY, JSON.stringify([...others, ...claims]));
}

/** Exclusive. */
export function arriveWith(context: Writer, head: unknown): void {
  context.set(ARRIVED_KEY, String(head));
}

/** Shared. Undefined: it began here. */
export const arrivedWith = (context: DurableReader): Promise<string | undefined> => context.get(ARRIVED_KEY);

/** Shared. `from`: where the answer before said to go on. */
export async function archivedCalls(context: DurableReader, from: unknown): Promise<ArchivedCalls> {
  if (typeof from === "number") return { ...(await expiriesFrom(context, from)), due: [] };
  return { ...(await expiriesFrom(context, 0)), due: readDue(tryParseJson(await context.get(DUE_KEY))) };
}

/** Shared. In the order of `keys`; ends early where that is enough for one answer. Null: there is none. */
export async function repliesTo(context: DurableReader, keys: unknown): Promise<readonly (KeptReply | null)[]> {
  const found: (KeptReply | null)[] = [];
  let characters = 0;
  for (const key of Array.isArray(keys) ? keys : []) {
    if (characters > ANSWER_CHARACTERS) break;
    const reply = (await replyTo(context, String(key))) ?? null;
    characters += JSON.stringify(reply).length;
    found.push(reply);
  }
  return found;
}

export const isArchivedCalls = (value: unknown): value is ArchivedCalls =>
  isObject(value) &&
  Array.isArray(value["keys"]) &&
  value["keys"].every(isExpiry) &&
  (value["next"] === undefined || typeof value["next"] === "number") &&
  Array.isArray(value["due"]) &&
  value["due"].every(isClaim);

export const areReplies = (value: unknown): value is readonly (KeptReply | null)[] =>
  Array.isArray(value) && value.every((reply) => reply === null || isReply(reply));

const readDue = (value: unknown): readonly Claim[] => (Array.isArray(value) ? value.filter(isClaim) : []);

const isClaim = (value: unknown): value is Claim =>
  isObject(value) && typeof value["key"] === "string" && typeof value["call"] === "string" && typeof value["until"] === "number";
