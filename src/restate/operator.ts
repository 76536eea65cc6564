/** What an operator asks of a cluster: of any kind its nodes serve, without their code. */
import { kindOf } from "../chain/internal.ts";
import { StoreError, type ActorId, type Change, type ChainEvent, type Letter, type ListQuery } from "../contract/index.ts";
import { Admin } from "./admin.ts";
import { ofLetters } from "./directory.ts";
import { Ingress, type Invocation } from "./ingress.ts";
import { readLetter } from "./letters.ts";
import { isVersioned, type Versioned } from "./outcome.ts";
import { Queries } from "./queries.ts";
import { strange, told, TransferClient, type TransferOptions } from "./transfer-client.ts";

const PAGE = 500;
const READ_WITHIN_MS = 10_000;

/** Gives up: a server whose node is away holds a call until that comes back. */
class Reads extends Ingress {
  readonly #client: TransferClient;

  constructor(client: TransferClient, base: string) {
    super({ base, clock: client.patience, patienceMs: READ_WITHIN_MS });
    this.#client = client;
  }

  override async invoke({ input, ...to }: Invocation): Promise<unknown> {
    return { value: await this.#client.ask(to, input) };
  }
}

/**
 * Serves nothing and registers nothing; nodes must be up, since they answer. Throws `STORE_IO` where the server or a node does
 * not answer within `patienceMs` (default 10 s).
 */
export class RestateOperator {
  /** That are registered, in order. */
  readonly kinds: readonly string[];
  readonly #client: TransferClient;
  readonly #queries: Queries;

  private constructor(client: TransferClient, { ingress }: TransferOptions, kinds: readonly string[]) {
    const { names, maps, patience, admin } = client;
    this.kinds = kinds;
    this.#client = client;
    this.#queries = new Queries({ ingress: new Reads(client, ingress), names, maps, kinds, patience, admin });
  }

  static open(options: TransferOptions): Promise<RestateOperator> {
    return told(async () => {
      const client = new TransferClient({ patienceMs: READ_WITHIN_MS, ...options });
      const kinds = await new Admin(client.admin, client.names).kinds();
      return new RestateOperator(client, options, kinds.toSorted());
    });
  }

  list(query: ListQuery): Promise<readonly Change[]> {
    return told(async () => this.#queries.list(query));
  }

  /** Undefined: there is none, or nobody serves its kind. */
  read(id: ActorId): Promise<Versioned | undefined> {
    return told(async () => {
      if (!this.#serves(id)) return undefined;
      const answer = await this.#client.ask(this.#client.names.actor(id, "read"), null);
      if (answer === null) return undefined;
      if (!isVersioned(answer)) throw strange(id);
      return answer;
    });
  }

  events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]> {
    return told(async () => {
      const events: ChainEvent[] = [];
      if (!this.#serves(id)) return events;
      for await (const event of this.#queries.history(id, afterSeq)) {
        events.push(event);
        if (events.length >= limit) break;
      }
      return events;
    });
  }

  event(eventId: string): Promise<ChainEvent | undefined> {
    return told(async () => this.#queries.event(eventId));
  }

  caused(eventId: string): Promise<readonly ChainEvent[]> {
    return told(async () => this.#queries.caused(eventId));
  }

  /** Oldest first. `damaged` is told of each that cannot be opened; without it, the first one is thrown. */
  letters(limit: number, damaged?: (error: StoreError) => void): Promise<readonly Letter[]> {
    return told(async () => {
      const map = this.#client.maps.shardedMap(ofLetters.name, ofLetters.shards);
      const letters: Letter[] = [];
      for (let after: string | undefined; ;) {
        const page = await map.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
        for (const [, value] of page)
          try {
            letters.push(...readLetter(this.#client, value));
            if (letters.length >= limit) return letters;
          } catch (error) {
            if (!(error instanceof StoreError) || damaged === undefined) throw error;
            damaged(error);
          }
        if (page.length < PAGE) return letters;
        after = page.at(-1)?.[0];
      }
    });
  }

  #serves(id: ActorId): boolean {
    return this.kinds.includes(kindOf(id));
  }
}
