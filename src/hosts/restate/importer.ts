// Owns: importing actors, keyed calls and messages into a server. Does not own: the handlers (actor-object.ts), exports
// (exporter.ts).
//
// Every step is durable when it is answered, and an actor is visible only after its last step. Imported actors start to act with
// `resumeImported`.
import {
  type Closable,
  EngineError,
  StoreError,
  type ActorImport,
  type Importer,
  type DeadLetter,
  type Message,
  type ExportedActor,
  type Undelivered,
  type ChainEvent,
  type Json,
  type KeyedCall,
} from "../../core/contract/index.ts";
import { isAddress, kindOf } from "../../core/contract/internal.ts";
import { exportLine } from "../../core/chain/index.ts";
import { NOTHING_SINCE, sinceAfter, type SinceFull } from "../../core/chain/internal.ts";
import { UIDS, CLAIMS } from "./directory.ts";
import { isImportStart, type CommitImportInput, type PendingCall } from "./imported-actor.ts";
import { conflict, unexpectedStoreAnswer, withStoreErrors, TransferClient, type TransferOptions } from "./transfer-client.ts";
import { isEnqueueResult, type QueueEntry, importQueueHandler } from "./import-queue.ts";
import type { ArchiveInput } from "./archive.ts";
import { claimKey } from "./commit.ts";
import type { StoredReply } from "./stored-actor.ts";

/**
 * Nodes that serve the kinds must be up, and must serve no clients meanwhile. Messages and timers wait for `resumeImported`. An actor whose
 * import was not completed is refused to callers as failed; the same import again completes it. Throws `STORE_IO` if the server, or a node
 * that serves a kind, does not answer.
 */
export const restateImporter = (options: TransferOptions): Importer & Closable => new RestateImporter(new TransferClient(options));

/** Starts all that was imported: delivers messages in the order of import, and sets timers, each once. Throws `StoreError`. */
export function resumeImported(options: TransferOptions): Promise<void> {
  const client = new TransferClient(options);
  return withStoreErrors(async () => {
    while ((await client.ask(importQueueHandler(client.names, "resume"), null)) !== 0);
  });
}

class RestateImporter implements Importer, Closable {
  readonly #client: TransferClient;
  /** Whether a kind's messages must be sealed. */
  readonly #secret = new Map<string, boolean>();
  #open = true;

  constructor(client: TransferClient) {
    this.#client = client;
  }

  actor(actor: ExportedActor): Promise<ActorImport | undefined> {
    return this.#do(async () => {
      const { names } = this.#client;
      const { id, head, row } = actor;
      const arrived = await this.#client.ask(names.actor(id, "arrive"), head);
      if (!isImportStart(arrived)) throw unexpectedStoreAnswer(id);
      if (arrived.conflict !== undefined) throw conflict(arrived.conflict);
      if (arrived.there) return undefined;
      const other = await this.#client.maps.shardedMap(UIDS.name, UIDS.shards).get(row.uid);
      if (typeof other === "string" && other !== id && (await this.#isThere(other))) {
        await this.#client.ask(names.actor(id, "leave"), head);
        throw conflict(`${other} is there already with the uid of ${id}, ${row.uid}.`);
      }
      const imported = new ImportedActor(this.#client, actor, arrived.claims);
      return {
        event: (event, full) => this.#do(() => imported.event(event, full)),
        call: (call) => this.#do(() => imported.call(call)),
        commit: (state) => this.#do(() => imported.commit(state)),
        abort: () => this.#do(() => imported.abort()),
      };
    });
  }

  message({ message, failures }: Undelivered): Promise<boolean> {
    return this.#do(() => this.#take(message, { failures }));
  }

  letter({ message, why, at }: DeadLetter): Promise<boolean> {
    return this.#do(() => this.#take(message, { failures: 0, letter: { why, at } }));
  }

  async flush(): Promise<void> {
    // Every step was durable when it was answered.
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
  }

  async #isThere(id: string): Promise<boolean> {
    if (!isAddress(id)) return false;
    return (await this.#client.ask(this.#client.names.actor(id, "whole"), null)) !== null;
  }

  async #take(
    message: Message,
    more: { readonly failures: number; readonly letter?: { readonly why: string; readonly at: number } },
  ): Promise<boolean> {
    const { sealer } = this.#client;
    if (sealer === undefined && (await this.#isSecret(kindOf(message.to)))) throw secretMissing(message);
    const entry: QueueEntry = { id: message.id, message: sealer?.seal(message) ?? message, ...more };
    const taken = await this.#client.once(importQueueHandler(this.#client.names, "take"), entry);
    if (!isEnqueueResult(taken)) throw unexpectedStoreAnswer("what waits");
    if (taken.conflict !== undefined) throw conflict(taken.conflict);
    return taken.fresh;
  }

  async #isSecret(kind: string): Promise<boolean> {
    let is = this.#secret.get(kind);
    if (is === undefined) {
      try {
        is = (await this.#client.ask(this.#client.names.actor(`${kind}/any`, "secret"), null)) === true;
      } catch (error) {
        // No node serves the kind: the message will become a dead letter.
        if (!(error instanceof EngineError) || error.code !== "ENGINE_MISSING") throw error;
        is = false;
      }
      this.#secret.set(kind, is);
    }
    return is;
  }

  #do<T>(run: () => Promise<T>): Promise<T> {
    return withStoreErrors(() => {
      if (!this.#open) throw new StoreError("STORE_CLOSED", "This import is over: begin another.");
      return run();
    });
  }
}

const secretMissing = ({ id, to }: Message): StoreError =>
  new StoreError(
    "STORE_IO",
    `Message ${id} to ${to} may hold what is secret, and would lie open on the server: import with the secret that the nodes share.`,
  );

/** Of one step, unless a single line is longer. */
const STEP_BYTES = 524_288;
const STEP_CLAIMS = 500;

/** One actor that is being imported. */
class ImportedActor {
  readonly #client: TransferClient;
  readonly #actor: ExportedActor;
  /** Keyed calls are found by their keys alone. */
  readonly #claims: boolean;
  #since: SinceFull = NOTHING_SINCE;
  #seq = 0;
  /** Events in the archive. */
  #sent = 0;
  /** Of what has not been sent to the server yet. */
  #bytes = 0;
  #lines: string[] = [];
  #replies: StoredReply[] = [];
  #due: PendingCall[] = [];
  #last = "";
  #archived = false;

  constructor(client: TransferClient, actor: ExportedActor, claims: boolean) {
    this.#client = client;
    this.#actor = actor;
    this.#claims = claims;
  }

  async event(event: ChainEvent, full: boolean): Promise<void> {
    this.#since = sinceAfter(this.#since, { event, full });
    const line = exportLine(event);
    // The last event goes into the actor's own key.
    if (this.#seq + 1 < this.#actor.seq) {
      await this.#reserve(line);
      this.#lines.push(line);
    } else this.#last = line;
    this.#seq += 1;
  }

  async call({ key, call, until, reply }: KeyedCall): Promise<void> {
    const { seq, head } = this.#actor;
    this.#archived = true;
    if (this.#due.length + this.#replies.length >= STEP_CLAIMS) await this.#send();
    if (reply === undefined) {
      await this.#reserve(key);
      this.#due.push({ key, call, until });
    } else {
      const stored: StoredReply = { key, call, until, reply, seq, head };
      await this.#reserve(JSON.stringify(stored));
      this.#replies.push(stored);
    }
  }

  async commit(state: Json): Promise<void> {
    const { id, row, seq, head } = this.#actor;
    const { names } = this.#client;
    await this.#send();
    const acts = row.status !== "stopped" && (Object.keys(row.wakes).length > 0 || row.policy?.expireMs !== undefined);
    if (acts) {
      // Before the actor exists: a crash between the two would leave it without its timers.
      const waiting: QueueEntry = { actor: id, head };
      await this.#client.once(importQueueHandler(names, "take"), waiting);
    }
    const input: CommitImportInput = { row, state, seq, head, since: this.#since, line: this.#last, archived: this.#archived };
    const why = await this.#client.ask(names.actor(id, "settle"), input);
    if (typeof why === "string") throw conflict(why);
  }

  async abort(): Promise<void> {
    const { id, head } = this.#actor;
    await this.#client.ask(this.#client.names.actor(id, "leave"), head);
  }

  async #reserve(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes > 0 && this.#bytes + bytes > STEP_BYTES) await this.#send();
    this.#bytes += bytes;
  }

  /** Idempotent. */
  async #send(): Promise<void> {
    const { names } = this.#client;
    const { id } = this.#actor;
    const [lines, replies, due] = [this.#lines, this.#replies, this.#due];
    [this.#lines, this.#replies, this.#due, this.#bytes] = [[], [], [], 0];
    if (lines.length + replies.length > 0) {
      const count = lines.length;
      const input: ArchiveInput = { seq: this.#sent + 1, count, lines: lines.join("\n"), replies, now: this.#client.clock.now() };
      this.#sent += count;
      await this.#client.ask(names.archive(id, "take"), input);
    }
    if (due.length > 0) await this.#client.ask(names.archive(id, "due"), due);
    if (this.#claims && due.length + replies.length > 0)
      await this.#client.maps
        .shardedMap(CLAIMS.name, CLAIMS.shards)
        .putMany([...replies, ...due].map(({ key, until }) => [claimKey(kindOf(id), key), { id, until }]));
  }
}
