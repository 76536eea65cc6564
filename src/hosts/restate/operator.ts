// Owns: what operators do to a cluster, with any kind that its nodes serve and without its code. Does not own: the commands (cli).
import { byOperator, faults, ownId, stamp } from "../../core/chain/internal.ts";
import {
  StoreError,
  systemEntropy,
  type ActorId,
  type Change,
  type ChainEvent,
  type EngineError,
  type Entropy,
  type FoundRows,
  type IndexShape,
  type Json,
  type DeadLetter,
  type ListQuery,
  type Outgoing,
  type Reply,
  type RolesByKind,
  type RowQuery,
  type Snapshot,
  type StoredIndex,
  type Viewer,
} from "../../core/contract/index.ts";
import { checkWholeNumber, isTexts, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { Calls } from "./calls.ts";
import { INDEX_LIST } from "./directory.ts";
import { definitionHash, IndexReplica, partHandler, partsOf, stateOf } from "./index-replica.ts";
import { storedIndexes } from "./indexes.ts";
import { Ingress, GuardedIngress } from "./ingress.ts";
import { DeadLetters } from "./dead-letters.ts";
import { isObject } from "./handler-inputs.ts";
import { isSnapshot } from "./outcome.ts";
import { Queries } from "./queries.ts";
import { unsealed } from "./sealer.ts";
import { unexpectedStoreAnswer, withStoreErrors, TransferClient, type TransferOptions } from "./transfer-client.ts";

const READ_TIMEOUT_MS = 10_000;
const LONG_TIMEOUT_MS = 300_000;

/**
 * Serves nothing and registers nothing; nodes must be up, since they answer. Throws `STORE_IO` if the server or a node does not answer
 * within `patienceMs` (default 10 s).
 */
export class RestateOperator {
  /** The registered kinds, in order. */
  readonly kinds: readonly string[];
  readonly #client: TransferClient;
  readonly #queries: Queries;
  readonly #calls: Calls;
  readonly #letters: DeadLetters;
  readonly #entropy: Entropy;
  /** For reads of all actors of a kind. */
  readonly #longRunning: GuardedIngress;

  private constructor(client: TransferClient, options: TransferOptions, kinds: readonly string[]) {
    const { names, maps, clock, patience, admin } = client;
    const { ingress: base, patienceMs = 60_000, entropy = systemEntropy } = options;
    this.kinds = kinds;
    this.#client = client;
    this.#longRunning = new GuardedIngress({ ingress: base, clock: patience, entropy, patienceMs: LONG_TIMEOUT_MS });
    this.#queries = new Queries({ reads: client.ingress, names, maps, kinds, patience, admin });
    this.#entropy = entropy;
    // Only the code of the kinds knows which of them have secrets.
    const sealer = client.sealer ?? unsealed;
    const ingress = new Ingress({ base, clock: patience, patienceMs });
    this.#letters = new DeadLetters({ ingress, names, maps, entropy, sealerFor: () => sealer });
    this.#calls = new Calls({
      names,
      ingress,
      clock,
      patience,
      node: () => undefined,
      seal: (_message, input) => sealer.seal(input),
      redactedArgs: ({ args }) => args,
      announce: () => undefined,
      replyState: (id, key) => this.#queries.replyState(id, key),
      watch: () => () => undefined,
      callerLeft: () => undefined,
      fault: () => undefined,
    });
  }

  static open(options: TransferOptions): Promise<RestateOperator> {
    return withStoreErrors(async () => {
      const client = new TransferClient({ patienceMs: READ_TIMEOUT_MS, ...options });
      const kinds = await client.admin.kinds();
      return new RestateOperator(client, options, kinds.toSorted());
    });
  }

  list(query: ListQuery): Promise<readonly Change[]> {
    return withStoreErrors(async () => this.#queries.list(query));
  }

  /** Undefined if there is none, or no node serves its kind. */
  read(id: ActorId): Promise<Snapshot | undefined> {
    return withStoreErrors(async () => {
      if (!this.#serves(id)) return undefined;
      const answer = await this.#client.ask(this.#client.names.actor(id, "read"), null);
      if (answer === null) return undefined;
      if (!isSnapshot(answer)) throw unexpectedStoreAnswer(id);
      return answer;
    });
  }

  events(id: ActorId, afterSeq: number, limit: number): Promise<readonly ChainEvent[]> {
    return withStoreErrors(async () => {
      checkWholeNumber("limit", limit);
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
    return withStoreErrors(async () => this.#queries.event(eventId));
  }

  caused(eventId: string): Promise<readonly ChainEvent[]> {
    return withStoreErrors(async () => this.#queries.caused(eventId));
  }

  /** Oldest first. `damaged` gets an error for each that cannot be opened; without it, the first one is thrown. */
  letters(limit: number, damaged?: (error: StoreError) => void, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    const report = damaged && ((error: EngineError) => damaged(new StoreError("STORE_CORRUPT", error.message, { cause: error })));
    return withStoreErrors(async () => this.#letters.list(limit, report, except));
  }

  /**
   * Throws `EngineError`. Without the secret, the server stores the arguments as they are. A caller with claims needs the secret, since a
   * node decides its roles.
   */
  async call(outgoing: Outgoing): Promise<Reply> {
    const { to, viewer } = outgoing;
    const decided = viewer?.claims === undefined ? undefined : await this.#rolesOf(to, viewer);
    const roles = decided && { rolesOf: () => decided };
    return this.#calls.call(stamp(outgoing, undefined, this.#client.clock.now(), this.#entropy, roles), {});
  }

  async #rolesOf(to: ActorId, { principal, scopes, claims }: Viewer): Promise<RolesByKind> {
    const { sealer, names } = this.#client;
    if (sealer === undefined) throw faults.secretMissing(kindOf(to));
    const input = sealer.seal(omitUndefined({ principal, scopes, claims }));
    const answer = await this.#client.ask(names.actor(to, "roles"), input);
    if (!isRolesByKind(answer)) throw unexpectedStoreAnswer(to);
    return answer;
  }

  /** Throws `EngineError`. */
  stop(to: ActorId, reason: string, principal?: string): Promise<void> {
    const [id, seed] = [ownId(this.#entropy.hex(16)), this.#entropy.hex(16)];
    const message = { id, to, action: "stop", args: { reason }, at: this.#client.clock.now(), seed, ...byOperator(principal) };
    return this.#calls.end(message, reason);
  }

  /** Clears its failure. Throws `EngineError`. */
  restart(id: ActorId): Promise<void> {
    return this.#calls.restart(id, this.#entropy.hex(16));
  }

  /** Replays or drops a dead letter. False if there is none of that id. */
  letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    // Without a secret, no one has read what is dropped here.
    return withStoreErrors(async () => this.#letters.settle(messageId, fate, fate === "replay" || this.#client.sealer === undefined));
  }

  /** Indexes that nodes have declared. */
  indexes(): Promise<readonly StoredIndex[]> {
    const list = this.#client.maps.shardedMap(INDEX_LIST.name, INDEX_LIST.shards);
    return withStoreErrors(() => storedIndexes(list, this.#client));
  }

  /** Rows of an index. Undefined if it is not complete. */
  rows(shape: IndexShape, query: RowQuery): Promise<FoundRows | undefined> {
    return withStoreErrors(async () => {
      const { names, ingress } = this.#client;
      const replica = new IndexReplica({ shape, names, ingress });
      const state = stateOf(await replica.fresh(), definitionHash(shape));
      return state === "complete" ? replica.query(query) : undefined;
    });
  }

  /** Rebuilds or verifies an index, on a node, which has the code. Throws `EngineError`. */
  async index(name: string, operation: "rebuild" | "verify"): Promise<Json> {
    const [part = ""] = partsOf(name);
    const answer: unknown = await this.#longRunning.read({ ...partHandler(this.#client.names, part, operation), input: null });
    const json: Json = JSON.parse(JSON.stringify(answer));
    return json;
  }

  #serves(id: ActorId): boolean {
    return this.kinds.includes(kindOf(id));
  }
}

const isRolesByKind = (value: unknown): value is RolesByKind => isObject(value) && Object.values(value).every((roles) => isTexts(roles));
