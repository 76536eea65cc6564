// Owns: exporting and importing one actor, on the server. Does not own: the client's side (exporter.ts, importer.ts), queued messages
// (import-queue.ts).
//
// While an actor is being imported it must not start, so its health says that it has failed, and why. Its events and replies go to its
// archive first, which is not read before the actor's own key is written, in one turn.
import { importLine, readHeader } from "../../core/chain/index.ts";
import { atMostBytes, type Kind, type SinceFull } from "../../core/chain/internal.ts";
import { StoreError, type ActorId, type Json, type Row, type KeyedCall } from "../../core/contract/index.ts";
import { kindOf, tryParseJson } from "../../core/contract/internal.ts";
import {
  NO_BLOCKS,
  ACTOR_KEY,
  HEALTH_KEY,
  storedActorText,
  readHealth,
  readStoredActor,
  type Health,
  type StoredActor,
  type StoredReply,
  isStoredReply,
} from "./stored-actor.ts";
import { sendTimers } from "./commit.ts";
import { addToDirectory, type DirectoryEntry, removeFromDirectory } from "./directory.ts";
import type { DurableContext, DurableReader, DurableWriter, NodeHost } from "./durable-context.ts";
import { type ExpireInput, isObject } from "./handler-inputs.ts";
import { sendRows } from "./index-object.ts";
import { eventsIn } from "./event-lines.ts";
import { valueIn } from "./outcome.ts";
import { archivedReply, expiriesFrom, type Expiry, isExpiry } from "./archive.ts";

/** What an actor's own key contains, except its events. */
export interface ActorRecord {
  readonly row: Row;
  readonly seq: number;
  readonly head: string;
  readonly replies: readonly StoredReply[];
  readonly archived: boolean;
}

/** The answer to an import of an actor. A conflict is a value, since a retry would not help. */
export interface ImportStart {
  readonly there: boolean;
  /** Keyed calls of its kind are found by their keys alone. */
  readonly claims: boolean;
  readonly conflict?: string;
}

/** Completes an import. */
export interface CommitImportInput {
  readonly row: Row;
  readonly state: Json;
  readonly seq: number;
  readonly head: string;
  readonly since: SinceFull;
  /** The last event, as it is exported; earlier ones are in the archive. */
  readonly line: string;
  readonly archived: boolean;
}

const importingReason = (head: string): string =>
  `it is being imported, up to the event ${head}, and has not come to its end: import it again`;

/** Shared. */
export async function readActorRecord(context: DurableReader): Promise<ActorRecord | undefined> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored === undefined) return undefined;
  const { row, seq, head, replies, archived } = stored;
  return { row, seq, head, replies, archived: archived === true };
}

/** Exclusive, like all that follow. */
export async function beginImport(context: DurableContext, host: NodeHost, kind: Kind, id: ActorId, head: string): Promise<ImportStart> {
  const { names } = host;
  const claims = host.isLinked(kind.name);
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored !== undefined) {
    // An actor that was imported with that head may have more events by now.
    if (stored.head === head || valueIn(await context.call(names.archive(id, "arrived"), null)) === head) return { there: true, claims };
    return { there: true, claims, conflict: `${id} is there already with another chain: its event ${stored.seq} is ${stored.head}.` };
  }
  await context.call(names.archive(id, "clear"), null);
  const health: Health = { times: [], why: importingReason(head) };
  context.set(HEALTH_KEY, JSON.stringify(health));
  return { there: false, claims };
}

/** Removes everything that was imported of it. */
export async function abortImport(context: DurableContext, host: NodeHost, id: ActorId, head: string): Promise<void> {
  if (!(await isImporting(context, head)) || (await context.get(ACTOR_KEY)) !== undefined) return;
  await context.call(host.names.archive(id, "clear"), null);
  context.clear(HEALTH_KEY);
}

/** The actor exists from here on. Returns a conflict, or undefined. */
export async function commitImport(
  context: DurableContext,
  host: NodeHost,
  id: ActorId,
  input: CommitImportInput,
): Promise<string | undefined> {
  const { head, row } = input;
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored !== undefined) return stored.head === head ? undefined : `${id} has begun meanwhile.`;
  if (!(await isImporting(context, head))) return `The import of ${id} was given up meanwhile.`;
  const text = importedActorText(id, input);
  const { uid, owner, parent, status } = row;
  const entry: DirectoryEntry = {
    id,
    uid,
    first: true,
    owner,
    ownerBefore: undefined,
    parent: status === "stopped" ? undefined : parent,
  };
  const refused = await addToDirectory(context, host.names, entry);
  if (refused !== undefined) {
    removeFromDirectory(context, host.names, entry);
    throw refused;
  }
  await context.call(host.names.archive(id, "arrive"), head);
  context.set(ACTOR_KEY, text);
  context.clear(HEALTH_KEY);
  if (status !== "stopped") sendRows(context, host, kindOf(id), { id, seq: input.seq, owner, state: input.state, version: row.version });
  return undefined;
}

/** Sets the timers of an imported actor. Idempotent: a timer that has fired already finds nothing to do. */
export async function startTimers(context: DurableContext, host: NodeHost, id: ActorId): Promise<void> {
  const stored = readStoredActor(await context.get(ACTOR_KEY));
  if (stored === undefined || stored.row.status === "stopped") return;
  const { life, wakes, policy, lastMessageAt } = stored.row;
  const now = Number(await context.run("now", async () => host.now()));
  sendTimers(context, host, id, life, Object.entries(wakes));
  const { expireMs } = policy ?? {};
  const expire: ExpireInput = { life };
  if (expireMs !== undefined) context.send(host.names.actor(id, "expire"), expire, Math.max(0, lastMessageAt + expireMs - now));
}

const isImporting = async (context: DurableReader, head: string): Promise<boolean> =>
  readHealth(await context.get(HEALTH_KEY)).why === importingReason(head);

function importedActorText(id: ActorId, { row, state, seq, head, since, line, archived }: CommitImportInput): string {
  const event = importLine(line);
  const { seq: last, parent } = readHeader(event);
  if (event.id !== head || last !== seq) throw new StoreError("STORE_CORRUPT", "The last event of an import is another than it says.");
  try {
    const next: StoredActor = {
      row,
      state,
      bytes: atMostBytes(state),
      seq,
      head,
      since,
      own: 1,
      held: NO_BLOCKS,
      // In the format of `event-lines.ts`: later events need the life and the parent of the first one.
      lines: `life ${row.life} ${parent ?? "-"}\n${line}`,
      replies: [],
      ...(archived ? { archived } : {}),
    };
    const text = storedActorText(next);
    readStoredActor(text);
    if (eventsIn(id, next.lines, seq).length !== 1) throw new RangeError("Its life is no word.");
    return text;
  } catch (error) {
    throw new StoreError("STORE_CORRUPT", "What is to be an actor is none: import what was exported.", { cause: error });
  }
}

export const isActorRecord = (value: unknown): value is ActorRecord =>
  isObject(value) &&
  isObject(value["row"]) &&
  typeof value["seq"] === "number" &&
  typeof value["head"] === "string" &&
  Array.isArray(value["replies"]);

export const isImportStart = (value: unknown): value is ImportStart =>
  isObject(value) && typeof value["there"] === "boolean" && typeof value["claims"] === "boolean";

/** Clients of the ingress can send anything; the contents are checked when they are stored. */
export const isCommitImportInput = (value: unknown): value is CommitImportInput =>
  isObject(value) &&
  isObject(value["row"]) &&
  typeof value["row"]["uid"] === "string" &&
  value["state"] !== undefined &&
  typeof value["seq"] === "number" &&
  typeof value["head"] === "string" &&
  isObject(value["since"]) &&
  typeof value["line"] === "string" &&
  typeof value["archived"] === "boolean";

/** A keyed call whose reply is deferred. */
export type PendingCall = Omit<KeyedCall, "reply">;

/** Keys of replies, and pending calls. */
export interface ArchivedCalls {
  readonly keys: readonly Expiry[];
  readonly due: readonly PendingCall[];
  /** Where to continue. Absent: this was the last page. */
  readonly next?: number;
}

/** Calls that were imported without a reply. */
const PENDING_CALLS_KEY = "due";
/** The head with which the actor was imported. */
const IMPORTED_HEAD_KEY = "arrived";
/** Of JSON in one answer, which has at least one reply. */
const MAX_ANSWER_CHARACTERS = 262_144;

/** Exclusive. */
export async function addPendingCalls(context: DurableWriter, claims: unknown): Promise<void> {
  if (!Array.isArray(claims) || !claims.every(isPendingCall)) throw new StoreError("STORE_CORRUPT", "These are no keyed calls.");
  const newKeys = new Set(claims.map(({ key }) => key));
  const others = readPendingCalls(tryParseJson(await context.get(PENDING_CALLS_KEY))).filter(({ key }) => !newKeys.has(key));
  context.set(PENDING_CALLS_KEY, JSON.stringify([...others, ...claims]));
}

/** Exclusive. */
export function setImportedHead(context: DurableWriter, head: unknown): void {
  context.set(IMPORTED_HEAD_KEY, String(head));
}

/** Shared. Undefined if the actor started here. */
export const importedHead = (context: DurableReader): Promise<string | undefined> => context.get(IMPORTED_HEAD_KEY);

/** Shared. `from`: from the previous answer. */
export async function archivedCalls(context: DurableReader, from: unknown): Promise<ArchivedCalls> {
  if (typeof from === "number") return { ...(await expiriesFrom(context, from)), due: [] };
  return { ...(await expiriesFrom(context, 0)), due: readPendingCalls(tryParseJson(await context.get(PENDING_CALLS_KEY))) };
}

/** Shared. In the order of `keys`; may end early, to bound the answer. Null: there is no reply. */
export async function archivedReplies(context: DurableReader, keys: unknown): Promise<readonly (StoredReply | null)[]> {
  const found: (StoredReply | null)[] = [];
  let characters = 0;
  for (const key of Array.isArray(keys) ? keys : []) {
    if (characters > MAX_ANSWER_CHARACTERS) break;
    const reply = (await archivedReply(context, String(key))) ?? null;
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
  value["due"].every(isPendingCall);

export const areReplies = (value: unknown): value is readonly (StoredReply | null)[] =>
  Array.isArray(value) && value.every((reply) => reply === null || isStoredReply(reply));

const readPendingCalls = (value: unknown): readonly PendingCall[] => (Array.isArray(value) ? value.filter(isPendingCall) : []);

const isPendingCall = (value: unknown): value is PendingCall =>
  isObject(value) && typeof value["key"] === "string" && typeof value["call"] === "string" && typeof value["until"] === "number";
