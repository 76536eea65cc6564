import { exportLine } from "../../core/chain/index.ts";
import { NOTHING_SINCE, sinceAfter, type SinceFull } from "../../core/chain/internal.ts";
import type { ChainEvent, Json, KeyedCall, ExportedActor } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import type { Sealed } from "./archive.ts";
import { claimKey } from "./commit.ts";
import { ofClaims } from "./directory.ts";
import type { KeptReply } from "./kept.ts";
import type { SettleInput } from "./transfer-actor.ts";
import type { Claim } from "./transfer-archive.ts";
import { conflict, type TransferClient } from "./transfer-client.ts";
import { type Waiting, waitingHandler } from "./transfer-waiting.ts";

/** Of one step, unless a single line has more. */
const STEP_BYTES = 524_288;
const STEP_CLAIMS = 500;

/** One actor on its way in. */
export class Coming {
  readonly #client: TransferClient;
  readonly #actor: ExportedActor;
  /** Calls are found by their keys alone. */
  readonly #claims: boolean;
  #since: SinceFull = NOTHING_SINCE;
  #seq = 0;
  /** Events in the archive. */
  #sent = 0;
  /** Of those that are not with the server yet. */
  #bytes = 0;
  #lines: string[] = [];
  #replies: KeptReply[] = [];
  #due: Claim[] = [];
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
    // The last one is in the actor's own key.
    if (this.#seq + 1 < this.#actor.seq) {
      await this.#room(line);
      this.#lines.push(line);
    } else this.#last = line;
    this.#seq += 1;
  }

  async call({ key, call, until, reply }: KeyedCall): Promise<void> {
    const { seq, head } = this.#actor;
    this.#archived = true;
    if (this.#due.length + this.#replies.length >= STEP_CLAIMS) await this.#send();
    if (reply === undefined) {
      await this.#room(key);
      this.#due.push({ key, call, until });
    } else {
      const kept: KeptReply = { key, call, until, reply, seq, head };
      await this.#room(JSON.stringify(kept));
      this.#replies.push(kept);
    }
  }

  async commit(state: Json): Promise<void> {
    const { id, row, seq, head } = this.#actor;
    const { names } = this.#client;
    await this.#send();
    const acts = row.status !== "stopped" && (Object.keys(row.wakes).length > 0 || row.policy?.expireMs !== undefined);
    if (acts) {
      // Before it is there: a crash between the two would leave it without its timers.
      const waiting: Waiting = { actor: id, head };
      await this.#client.once(waitingHandler(names, "take"), waiting);
    }
    const input: SettleInput = { row, state, seq, head, since: this.#since, line: this.#last, archived: this.#archived };
    const why = await this.#client.ask(names.actor(id, "settle"), input);
    if (typeof why === "string") throw conflict(why);
  }

  async abort(): Promise<void> {
    const { id, head } = this.#actor;
    await this.#client.ask(this.#client.names.actor(id, "leave"), head);
  }

  async #room(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    if (this.#bytes > 0 && this.#bytes + bytes > STEP_BYTES) await this.#send();
    this.#bytes += bytes;
  }

  /** The same again changes nothing. */
  async #send(): Promise<void> {
    const { names } = this.#client;
    const { id } = this.#actor;
    const [lines, replies, due] = [this.#lines, this.#replies, this.#due];
    [this.#lines, this.#replies, this.#due, this.#bytes] = [[], [], [], 0];
    if (lines.length + replies.length > 0) {
      const count = lines.length;
      const sealed: Sealed = { seq: this.#sent + 1, count, lines: lines.join("\n"), replies, now: this.#client.clock.now() };
      this.#sent += count;
      await this.#client.ask(names.archive(id, "take"), sealed);
    }
    if (due.length > 0) await this.#client.ask(names.archive(id, "due"), due);
    if (this.#claims && due.length + replies.length > 0)
      await this.#client.maps
        .shardedMap(ofClaims.name, ofClaims.shards)
        .putMany([...replies, ...due].map(({ key, until }) => [claimKey(kindOf(id), key), { id, until }]));
  }
}
