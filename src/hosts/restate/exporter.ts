// Owns: exporting actors, keyed calls, messages in flight and dead letters from a server. Does not own: requests to it
// (transfer-client.ts), imports (importer.ts).
//
// Each actor is exported as of one moment. What nodes do meanwhile is included or not, actor by actor.
import {
  type Closable,
  StoreError,
  type ActorId,
  type ChainEvent,
  type Exporter,
  type LeavingActor,
  type DeadLetter,
  type Undelivered,
  type KeyedCall,
} from "../../core/contract/index.ts";
import { isAddress, tryParseJson } from "../../core/contract/internal.ts";
import { pendingReply } from "../../core/chain/internal.ts";
import { actorsOfKind, DEAD_LETTERS } from "./directory.ts";
import { readDeadLetter } from "./dead-letters.ts";
import { Queries } from "./queries.ts";
import { isActorRecord, type ActorRecord, areReplies, isArchivedCalls } from "./imported-actor.ts";
import { unexpectedStoreAnswer, eachWithStoreErrors, TransferClient, type TransferOptions } from "./transfer-client.ts";
import { isQueuePage, importQueueHandler } from "./import-queue.ts";
import { isMessage, isTurnInput, isObject } from "./handler-inputs.ts";

const PAGE = 500;

/** Nodes must be up. Throws `STORE_IO` if the server, or a node that serves a kind, does not answer. */
export const restateExporter = (options: TransferOptions): Exporter & Closable => new RestateExporter(new TransferClient(options));

class RestateExporter implements Exporter, Closable {
  readonly at: number;
  readonly #client: TransferClient;
  readonly #queries: Queries;
  #open = true;

  constructor(client: TransferClient) {
    const { clock, ingress, names, maps, patience, admin } = client;
    this.at = clock.now();
    this.#client = client;
    this.#queries = new Queries({ reads: ingress, names, maps, kinds: [], patience, admin });
  }

  actors(kind?: string): AsyncGenerator<LeavingActor> {
    return eachWithStoreErrors(this.#actors(kind));
  }

  undelivered(): AsyncGenerator<Undelivered> {
    return eachWithStoreErrors(this.#undelivered());
  }

  letters(): AsyncGenerator<DeadLetter> {
    return eachWithStoreErrors(this.#letters());
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
  }

  async *#actors(kind: string | undefined): AsyncGenerator<LeavingActor> {
    this.#check();
    const served = await this.#client.admin.kinds();
    for (const one of served.toSorted()) {
      if (kind !== undefined && one !== kind) continue;
      const { name, shards } = actorsOfKind(one);
      for await (const [id] of this.#entries(name, shards)) {
        if (!isAddress(id)) continue;
        const answer = await this.#ask(id, "whole", null);
        // It is in the directory, but never started.
        if (answer === null) continue;
        if (!isActorRecord(answer)) throw unexpectedStoreAnswer(id);
        const { row, seq, head } = answer;
        yield {
          id,
          row,
          seq,
          head,
          events: () => eachWithStoreErrors(this.#events(id, seq)),
          calls: () => eachWithStoreErrors(callsOf(this.#client, id, answer, this.at)),
        };
      }
    }
  }

  /** Events after the row was read are not part of this export. */
  async *#events(id: ActorId, last: number): AsyncGenerator<ChainEvent> {
    let seq = 0;
    for await (const event of this.#queries.history(id, 0)) {
      this.#check();
      yield event;
      seq += 1;
      if (seq === last) return;
    }
  }

  /** Imported messages that were not delivered yet, then messages in flight. */
  async *#undelivered(): AsyncGenerator<Undelivered> {
    const { names } = this.#client;
    for (let from: number | undefined = 0; from !== undefined;) {
      this.#check();
      const page: unknown = await this.#client.ask(importQueueHandler(names, "list"), from);
      if (!isQueuePage(page)) throw unexpectedStoreAnswer("what waits");
      for (const { message, failures } of page.entries) {
        const opened = this.#client.open(message);
        if (isMessage(opened)) yield { message: opened, failures };
      }
      from = page.next;
    }
    yield* undeliveredMessages(this.#client);
  }

  async *#letters(): AsyncGenerator<DeadLetter> {
    for await (const [, value] of this.#entries(DEAD_LETTERS.name, DEAD_LETTERS.shards)) yield* readDeadLetter(this.#client, value);
  }

  async *#entries(name: string, shards: number) {
    this.#check();
    for await (const entry of this.#client.maps.shardedMap(name, shards).all({ page: PAGE })) {
      this.#check();
      yield entry;
    }
  }

  #ask(id: ActorId, handler: string, input: unknown): Promise<unknown> {
    return this.#client.ask(this.#client.names.actor(id, handler), input);
  }

  #check(): void {
    if (!this.#open) throw new StoreError("STORE_CLOSED", "This export is over: begin another.");
  }
}

const KEYS = 64;
/** The default time for which keyed replies are stored. A pending call is exported with it. */
const PENDING_CALL_MS = 24 * 3_600_000;

/** C4: keyed calls that have not expired, ordered by the bytes of their keys: pending calls and replies, from the actor and its archive. */
async function* callsOf(
  client: TransferClient,
  id: ActorId,
  { row, replies, archived }: ActorRecord,
  now: number,
): AsyncGenerator<KeyedCall> {
  const calls = new Map<string, KeyedCall | undefined>();
  for (const one of Object.values(row.pending)) {
    const { key, call = "" } = pendingReply(one);
    if (key !== undefined) calls.set(key, { key, call, until: row.lastMessageAt + PENDING_CALL_MS });
  }
  for (let from: number | null | undefined = archived ? null : undefined; from !== undefined;) {
    const old: unknown = await client.ask(client.names.archive(id, "calls"), from);
    if (!isArchivedCalls(old)) throw unexpectedStoreAnswer(id);
    for (const call of old.due) calls.set(call.key, call);
    for (const [key, until] of old.keys) if (until > now) calls.set(key, undefined);
    from = old.next;
  }
  for (const { key, call, until, reply } of replies) calls.set(key, { key, call, until, reply });
  const keys = [...calls.keys()].filter((key) => !isDeferredReplyKey(key)).map((key) => ({ key, bytes: Buffer.from(key) }));
  keys.sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const archivedFrom = (at: number): readonly string[] => {
    const some: string[] = [];
    for (let n = at; n < keys.length && some.length < KEYS; n += 1) {
      const { key } = keys[n] ?? { key: "" };
      if (calls.get(key) === undefined) some.push(key);
    }
    return some;
  };
  let next: KeyedCall[] = [];
  for (const [at, { key }] of keys.entries()) {
    let call = calls.get(key);
    if (call === undefined) {
      if (next.length === 0) next = await requestReplies(client, id, archivedFrom(at));
      call = next.shift();
    }
    if (call !== undefined && call.until > now) yield call;
  }
}

async function requestReplies(client: TransferClient, id: ActorId, keys: readonly string[]): Promise<KeyedCall[]> {
  const answer = await client.ask(client.names.archive(id, "replies"), keys);
  if (!areReplies(answer) || answer.length === 0) throw unexpectedStoreAnswer(id);
  return answer.map((stored) => {
    if (stored === null)
      throw new StoreError("STORE_CORRUPT", `A reply of ${id} is missing in its archive: restore the Restate server's data from a copy.`);
    const { key, call, until, reply } = stored;
    return { key, call, until, reply };
  });
}

/** The key of a deferred reply is not the key of a call. */
const isDeferredReplyKey = (key: string): boolean => /^later [^\n]*$/.test(key);

const BATCH = 64;

interface PendingInvocation {
  readonly id: string;
  readonly at: string;
}

/**
 * Messages in flight, ordered by send time, and by send order for each sender. On the server these are invocations that have not ended. Its
 * admin API lists them with their inputs, including those that wait for another invocation or for a time.
 */
async function* undeliveredMessages(client: TransferClient): AsyncGenerator<Undelivered> {
  const begun = (await client.admin.pendingInvocations("deliver")).flatMap(pendingInvocationIn);
  begun.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  for (let from = 0; from < begun.length;) {
    let until = Math.min(begun.length, from + BATCH);
    // Messages with the same time are ordered by what they contain.
    while (until < begun.length && begun[until]?.at === begun[until - 1]?.at) until += 1;
    const batch = begun.slice(from, until);
    from = until;
    const inputs = new Map<string, Undelivered>();
    for (let at = 0; at < batch.length; at += BATCH) {
      const rows = await client.admin.invocationInputs(batch.slice(at, at + BATCH).map(({ id }) => id));
      for (const row of rows) {
        const [id, payload] = payloadIn(row);
        const input = client.open(payload);
        if (!isTurnInput(input)) throw unreadable(id);
        inputs.set(id, { message: input.message, failures: input.failures ?? 0 });
      }
    }
    // An invocation that has ended meanwhile is missing.
    const left = batch.flatMap(({ id, at }) => {
      const undelivered = inputs.get(id);
      return undelivered === undefined ? [] : [{ at, undelivered, place: sendOrder(undelivered.message.id) }];
    });
    left.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : compare(one.place, other.place)));
    for (const { undelivered } of left) yield undelivered;
  }
}

type SendOrder = readonly [life: string, seq: number, n: number];

/** A turn's messages have ids `life.seq.n`. */
function sendOrder(id: string): SendOrder {
  const [, life, seq, n] = /^(.*)\.(\d+)\.(\d+)$/s.exec(id) ?? [];
  return [life ?? id, Number(seq ?? 0), Number(n ?? 0)];
}

const compare = ([life, seq, n]: SendOrder, [otherLife, otherSeq, otherN]: SendOrder): number =>
  life < otherLife ? -1 : life > otherLife ? 1 : seq - otherSeq || n - otherN;

const pendingInvocationIn = (row: unknown): readonly PendingInvocation[] =>
  isObject(row) && typeof row["id"] === "string" && typeof row["created_at"] === "string" ? [{ id: row["id"], at: row["created_at"] }] : [];

/** Input in the journal's first entry: `{Command: {Input: {payload: bytes}}}`. */
function payloadIn(row: unknown): readonly [id: string, payload: unknown] {
  if (!isObject(row) || typeof row["id"] !== "string" || typeof row["entry_json"] !== "string") throw unreadable("?");
  const { id, entry_json: text } = row;
  const entry = tryParseJson(text);
  const command = isObject(entry) ? entry["Command"] : undefined;
  const input = isObject(command) ? command["Input"] : undefined;
  const payload = isObject(input) ? input["payload"] : undefined;
  if (!Array.isArray(payload) || !payload.every((byte) => Number.isInteger(byte))) throw unreadable(id);
  return [id, tryParseJson(Buffer.from(payload).toString("utf8"))];
}

const unreadable = (id: string): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `Invocation ${id} delivers a message that this version cannot read: wait until "deliver" has ended everywhere, then export again.`,
  );
