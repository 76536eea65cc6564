import { type ActorId, type Arrival, type ChainEvent, type KeyedCall, StoreError, type Travelling } from "../contract/index.ts";
import { TravellingCheck } from "./dump-actor.ts";

const corrupt = (why: string): StoreError => new StoreError("STORE_CORRUPT", why);

/** One actor of an export on its way in: verified first, handed over then, committed at its end. */
export class Arriving {
  readonly #actor: Travelling;
  /** Undefined: it is there already, and only looked at. */
  readonly #arrival: Arrival | undefined;
  readonly #check: TravellingCheck;
  #calls = 0;
  #lastKey: Buffer | undefined;

  constructor(actor: Travelling, arrival: Arrival | undefined) {
    this.#actor = actor;
    this.#arrival = arrival;
    this.#check = new TravellingCheck(actor);
  }

  get isThere(): boolean {
    return this.#arrival === undefined;
  }

  /** Of its last event so far. */
  get seq(): number {
    return this.#check.seq;
  }

  get calls(): number {
    return this.#calls;
  }

  async event(event: ChainEvent): Promise<void> {
    if (this.#calls > 0) throw corrupt("An event comes after a reply: the lines are out of order.");
    const full = this.#check.event(event);
    await this.#arrival?.event(event, full);
  }

  async call(call: KeyedCall): Promise<void> {
    const key = Buffer.from(call.key);
    if (this.#lastKey && Buffer.compare(this.#lastKey, key) >= 0)
      throw corrupt(`The reply to ${call.key} comes twice, or out of the order of keys.`);
    this.#lastKey = key;
    this.#calls += 1;
    await this.#arrival?.call(call);
  }

  async end({ id, seq, head }: Pick<Travelling, "id" | "seq" | "head">): Promise<void> {
    const { id: begun, seq: said, head: named } = this.#actor;
    if (id !== begun || seq !== said || head !== named) throw corrupt(`The line of its end is of ${id}, event ${seq}: lines are missing.`);
    const state = this.#check.end();
    await this.#arrival?.commit(state);
  }

  async abort(): Promise<void> {
    await this.#arrival?.abort();
  }

  blamed(error: unknown): unknown {
    return ofActor(this.#actor.id, error, this.seq);
  }
}

/** The same fault, saying whose it is: `data` is `{ actor, seq }`, the event at which it shows. */
export function ofActor(actor: ActorId, error: unknown, lastSeq: number): unknown {
  if (!(error instanceof StoreError)) return error;
  const { code, message, data } = error;
  const named = typeof data === "object" && data !== null && "seq" in data && typeof data.seq === "number" ? data.seq : undefined;
  const seq = named ?? lastSeq + 1;
  const place = named === undefined ? `${actor}, after event ${lastSeq}` : `${actor}, event ${named}`;
  return new StoreError(code, `${place}: ${message}`, { cause: error, data: { actor, seq } });
}
