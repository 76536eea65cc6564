// Owns: imported messages and timers, until everything has been imported. Does not own: imported actors (imported-actor.ts).
//
// Started earlier, a message might reach an actor that is not imported yet, and an actor with newer events could not be distinguished
// from a different one. C5: ids of imported messages are remembered, so the same import again sends nothing twice.
import { sha256 } from "../../core/chain/index.ts";
import { StoreError, type ActorId } from "../../core/contract/index.ts";
import { hasOwn, isAddress, tryParseJson } from "../../core/contract/internal.ts";
import { sendMessage } from "./commit.ts";
import { mapHandler, DEAD_LETTERS, deadLetterKey } from "./directory.ts";
import type { DurableContext, DurableReader, Handler, NodeHost } from "./durable-context.ts";
import { isMessage, isObject } from "./handler-inputs.ts";
import type { Names } from "./names.ts";
import { isGuarded, valueIn } from "./outcome.ts";

/** An actor whose timers have to be set. */
interface QueuedTimers {
  readonly actor: ActorId;
  /** The head with which it was imported. */
  readonly head: string;
}

/** A message to deliver, or a dead letter; sealed if the importer has a secret. */
interface QueuedMessage {
  readonly id: string;
  readonly message: unknown;
  readonly failures: number;
  readonly letter?: { readonly why: string; readonly at: number };
}

export type QueueEntry = QueuedTimers | QueuedMessage;

/** `fresh`: it is new. A conflict is a value. */
export interface EnqueueResult {
  readonly fresh: boolean;
  readonly conflict?: string;
}

export interface QueuePage {
  readonly entries: readonly QueuedMessage[];
  /** Where the next page starts. Absent: this was the last. */
  readonly next?: number;
}

const FIRST_KEY = "first";
const NEXT_KEY = "next";
const RESUME_ENTRIES = 64;
const PAGE_CHARACTERS = 262_144;

export const importQueueHandler = (names: Names, handler: string): Handler => ({ object: names.importQueue, key: "all", handler });

/** Exclusive. */
export async function enqueue(context: DurableContext, host: NodeHost, entry: unknown): Promise<EnqueueResult> {
  if (!isQueueEntry(entry)) throw new StoreError("STORE_CORRUPT", "This is nothing that can wait: import what was exported.");
  const name = "actor" in entry ? `id/${sha256(`${entry.actor} ${entry.head}`)}` : `id/${sha256(entry.id)}`;
  const sum = "actor" in entry ? "" : sha256(JSON.stringify(entry.message));
  const before = await context.get(name);
  if (before !== undefined) return before === sum ? { fresh: false } : { fresh: false, conflict: conflictMessage(entry) };
  if (!("actor" in entry)) {
    const dead = await existingDeadLetter(context, host, entry);
    if (dead !== undefined) return dead;
  }
  if ("actor" in entry || entry.letter === undefined) {
    const next = numberIn(await context.get(NEXT_KEY));
    context.set(`at/${next}`, JSON.stringify(entry));
    context.set(NEXT_KEY, String(next + 1));
  } else {
    const { id, message, letter } = entry;
    const key = deadLetterKey(letter.at, id);
    const put = await context.call(mapHandler(host.names, DEAD_LETTERS, key, "put"), { key, value: { message, ...letter } });
    if (isGuarded(put) && hasOwn(put, "fault"))
      throw new StoreError("STORE_FULL", `Letter ${id} is too large to be kept here: ${put.fault.message}`);
  }
  context.set(name, sum);
  return { fresh: true };
}

/** A message that failed here is among the dead letters, and was not imported. */
async function existingDeadLetter(
  context: DurableContext,
  host: NodeHost,
  { id, message, letter }: QueuedMessage,
): Promise<EnqueueResult | undefined> {
  const { open } = host.sealerFor("");
  const imported = open(message);
  if (!isMessage(imported) || imported.id !== id)
    throw new StoreError("STORE_CORRUPT", `Message ${id} is none that an actor could be sent.`);
  const key = deadLetterKey(letter?.at ?? imported.at, id);
  const answer = await context.call(mapHandler(host.names, DEAD_LETTERS, key, "get"), { key });
  const value = valueIn(answer);
  const found = isObject(value) ? value["found"] : undefined;
  if (!isObject(found)) return undefined;
  const same = JSON.stringify(open(found["message"])) === JSON.stringify(imported);
  return same ? { fresh: false } : { fresh: false, conflict: `Another message is a dead letter here under the id ${id}.` };
}

/** Shared. Messages only. */
export async function listQueue(context: DurableReader, from: unknown): Promise<QueuePage> {
  const first = numberIn(await context.get(FIRST_KEY));
  const next = numberIn(await context.get(NEXT_KEY));
  const entries: QueuedMessage[] = [];
  let characters = 0;
  for (let at = Math.max(first, typeof from === "number" ? from : 0); at < next; at += 1) {
    if (characters > PAGE_CHARACTERS) return { entries, next: at };
    const text = await context.get(`at/${at}`);
    const entry = tryParseJson(text);
    characters += text?.length ?? 0;
    if (isQueueEntry(entry) && !("actor" in entry)) entries.push(entry);
  }
  return { entries };
}

/** Exclusive. Returns how many are left. The server delivers the others once, in the order in which they were imported. */
export async function resumeQueue(context: DurableContext, host: NodeHost): Promise<number> {
  const first = numberIn(await context.get(FIRST_KEY));
  const next = numberIn(await context.get(NEXT_KEY));
  const sends: (() => void)[] = [];
  let characters = 0;
  let at = first;
  for (; at < next && at < first + RESUME_ENTRIES && characters <= PAGE_CHARACTERS; at += 1) {
    const text = await context.get(`at/${at}`);
    characters += text?.length ?? 0;
    sends.push(sending(context, host, tryParseJson(text)));
  }
  for (const send of sends) send();
  for (let removed = first; removed < at; removed += 1) context.clear(`at/${removed}`);
  if (at > first) context.set(FIRST_KEY, String(at));
  return next - at;
}

function sending(context: DurableContext, host: NodeHost, entry: unknown): () => void {
  if (!isQueueEntry(entry)) return () => undefined;
  if ("actor" in entry) return () => context.send(host.names.actor(entry.actor, "wind"), null);
  const message = host.sealerFor("").open(entry.message);
  if (!isMessage(message)) return () => undefined;
  return () => sendMessage(context, host, message, entry.failures);
}

const conflictMessage = (entry: QueueEntry): string =>
  "actor" in entry ? "" : `Another message came here under the id ${entry.id}, or the same one sealed with another secret.`;

const numberIn = (text: string | undefined): number => (text === undefined ? 0 : Number(text));

export const isEnqueueResult = (value: unknown): value is EnqueueResult => isObject(value) && typeof value["fresh"] === "boolean";

export const isQueuePage = (value: unknown): value is QueuePage =>
  isObject(value) && Array.isArray(value["entries"]) && value["entries"].every((entry) => isQueueEntry(entry) && !("actor" in entry));

function isQueueEntry(value: unknown): value is QueueEntry {
  if (!isObject(value)) return false;
  const { actor, head, id, message, failures, letter } = value;
  if (actor !== undefined) return isAddress(actor) && typeof head === "string";
  if (typeof id !== "string" || !isObject(message) || typeof failures !== "number") return false;
  return letter === undefined || (isObject(letter) && typeof letter["why"] === "string" && typeof letter["at"] === "number");
}
