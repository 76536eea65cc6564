/**
 * `Importer` on a Restate server. Every step is durable when it is answered, and none shows an actor before the last one of its
 * own; what has come begins to act with `resumeImported` only.
 */
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
} from "../../core/contract/index.ts";
import { isAddress, kindOf } from "../../core/contract/internal.ts";
import { ofUids } from "./directory.ts";
import { isArrived } from "./transfer-actor.ts";
import { conflict, strange, told, TransferClient, type TransferOptions } from "./transfer-client.ts";
import { Coming } from "./transfer-coming.ts";
import { isTaken, type Waiting, waitingHandler } from "./transfer-waiting.ts";

/**
 * Nodes that serve the kinds must be up, and serve nobody meanwhile. Messages and the timers of wakes wait for `resumeImported`;
 * what was begun and not ended is refused to callers as failed, and completed by the same import again.
 * Throws `STORE_IO` where the server, or a node that serves a kind, does not answer.
 */
export const restateImporter = (options: TransferOptions): Importer & Closable => new RestateImporter(new TransferClient(options));

/** Sets going all that was imported: messages are delivered in the order they came, wakes ring, each once. Throws `StoreError`. */
export function resumeImported(options: TransferOptions): Promise<void> {
  const client = new TransferClient(options);
  return told(async () => {
    while ((await client.ask(waitingHandler(client.names, "resume"), null)) !== 0);
  });
}

class RestateImporter implements Importer, Closable {
  readonly #client: TransferClient;
  /** Kinds whose messages must be sealed, and others. */
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
      if (!isArrived(arrived)) throw strange(id);
      if (arrived.conflict !== undefined) throw conflict(arrived.conflict);
      if (arrived.there) return undefined;
      const other = await this.#client.maps.shardedMap(ofUids.name, ofUids.shards).get(row.uid);
      if (typeof other === "string" && other !== id && (await this.#isThere(other))) {
        await this.#client.ask(names.actor(id, "leave"), head);
        throw conflict(`${other} is there already with the uid of ${id}, ${row.uid}.`);
      }
      const coming = new Coming(this.#client, actor, arrived.claims);
      return {
        event: (event, full) => this.#do(() => coming.event(event, full)),
        call: (call) => this.#do(() => coming.call(call)),
        commit: (state) => this.#do(() => coming.commit(state)),
        abort: () => this.#do(() => coming.abort()),
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
    const entry: Waiting = { id: message.id, message: sealer?.seal(message) ?? message, ...more };
    const taken = await this.#client.once(waitingHandler(this.#client.names, "take"), entry);
    if (!isTaken(taken)) throw strange("what waits");
    if (taken.conflict !== undefined) throw conflict(taken.conflict);
    return taken.fresh;
  }

  async #isSecret(kind: string): Promise<boolean> {
    let is = this.#secret.get(kind);
    if (is === undefined) {
      try {
        is = (await this.#client.ask(this.#client.names.actor(`${kind}/any`, "secret"), null)) === true;
      } catch (error) {
        // Nobody takes such messages: it will be a dead letter.
        if (!(error instanceof EngineError) || error.code !== "ENGINE_MISSING") throw error;
        is = false;
      }
      this.#secret.set(kind, is);
    }
    return is;
  }

  #do<T>(run: () => Promise<T>): Promise<T> {
    return told(() => {
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
