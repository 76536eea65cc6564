/** `Exporter` on a Restate server: each actor of one moment. What nodes do meanwhile is in it or not, actor by actor. */
import {
  type Closable,
  StoreError,
  type ActorId,
  type ChainEvent,
  type Exporter,
  type LeavingActor,
  type DeadLetter,
  type Undelivered,
} from "../../core/contract/index.ts";
import { isAddress } from "../../core/contract/internal.ts";
import { Admin } from "./admin.ts";
import { ofKind, ofLetters } from "./directory.ts";
import { readLetter } from "./letters.ts";
import { Queries } from "./queries.ts";
import { callsOf } from "./transfer-calls.ts";
import { isWhole } from "./transfer-actor.ts";
import { strange, toldEach, TransferClient, type TransferOptions } from "./transfer-client.ts";
import { pending } from "./transfer-pending.ts";
import { isListed, waitingHandler } from "./transfer-waiting.ts";
import { isMessage } from "./inputs.ts";

const PAGE = 500;

/** Nodes must be up. Throws `STORE_IO` where the server, or a node that serves a kind, does not answer. */
export const restateExporter = (options: TransferOptions): Exporter & Closable => new RestateExporter(new TransferClient(options));

class RestateExporter implements Exporter, Closable {
  readonly at: number;
  readonly #client: TransferClient;
  readonly #queries: Queries;
  #open = true;

  constructor(client: TransferClient) {
    const { clock, steps, names, maps, patience, admin } = client;
    this.at = clock.now();
    this.#client = client;
    this.#queries = new Queries({ reads: steps, names, maps, kinds: [], patience, admin });
  }

  actors(kind?: string): AsyncGenerator<LeavingActor> {
    return toldEach(this.#actors(kind));
  }

  undelivered(): AsyncGenerator<Undelivered> {
    return toldEach(this.#undelivered());
  }

  letters(): AsyncGenerator<DeadLetter> {
    return toldEach(this.#letters());
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
  }

  async *#actors(kind: string | undefined): AsyncGenerator<LeavingActor> {
    const { admin, names } = this.#client;
    this.#check();
    const served = await new Admin(admin, names).kinds();
    for (const one of served.toSorted()) {
      if (kind !== undefined && one !== kind) continue;
      const { name, shards } = ofKind(one);
      for await (const [id] of this.#entries(name, shards)) {
        if (!isAddress(id)) continue;
        const answer = await this.#ask(id, "whole", null);
        // It was entered, and never began.
        if (answer === null) continue;
        if (!isWhole(answer)) throw strange(id);
        const { row, seq, head } = answer;
        yield {
          id,
          row,
          seq,
          head,
          events: () => toldEach(this.#events(id, seq)),
          calls: () => toldEach(callsOf(this.#client, id, answer, this.at)),
        };
      }
    }
  }

  /** What came after the row was read is another export's. */
  async *#events(id: ActorId, last: number): AsyncGenerator<ChainEvent> {
    let seq = 0;
    for await (const event of this.#queries.history(id, 0)) {
      this.#check();
      yield event;
      seq += 1;
      if (seq === last) return;
    }
  }

  /** Those that came here and were not set going yet, then those on their way. */
  async *#undelivered(): AsyncGenerator<Undelivered> {
    const { names } = this.#client;
    for (let from: number | undefined = 0; from !== undefined;) {
      this.#check();
      const page: unknown = await this.#client.ask(waitingHandler(names, "list"), from);
      if (!isListed(page)) throw strange("what waits");
      for (const { message, failures } of page.entries) {
        const opened = this.#client.open(message);
        if (isMessage(opened)) yield { message: opened, failures };
      }
      from = page.next;
    }
    yield* pending(this.#client);
  }

  async *#letters(): AsyncGenerator<DeadLetter> {
    for await (const [, value] of this.#entries(ofLetters.name, ofLetters.shards)) yield* readLetter(this.#client, value);
  }

  async *#entries(name: string, shards: number) {
    const map = this.#client.maps.shardedMap(name, shards);
    for (let after: string | undefined; ;) {
      this.#check();
      const page = await map.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      yield* page;
      after = page.at(-1)?.[0];
      if (page.length < PAGE) return;
    }
  }

  #ask(id: ActorId, handler: string, input: unknown): Promise<unknown> {
    return this.#client.ask(this.#client.names.actor(id, handler), input);
  }

  #check(): void {
    if (!this.#open) throw new StoreError("STORE_CLOSED", "This export is over: begin another.");
  }
}
