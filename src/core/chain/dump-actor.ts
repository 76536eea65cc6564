import { StoreError, type ChainEvent, type Json, type Travelling } from "../contract/index.ts";
import { readBody, readHeader } from "./event.ts";
import { isTime } from "./dump-row.ts";
import { check } from "./json-check.ts";
import { apply } from "./patch.ts";
import { Verifier } from "./verify.ts";

interface Change {
  readonly patch: Json | undefined;
  readonly bytes: number;
}

/** Patches that wait for the next whole state, which makes them needless. More are applied at once, so that none can fill the memory. */
const MOST_CHANGES = 4_096;
const MOST_BYTES = 16 * 1_048_576;

const flawed = (seq: number, why: string, cause?: unknown): StoreError => new StoreError("STORE_CORRUPT", why, { cause, data: { seq } });

/** C7: an actor on its way, held to what its chain proves: each event as it comes; at the end its row, and its state anew from the events. */
export class TravellingCheck {
  readonly #actor: Travelling;
  readonly #verifier: Verifier;
  #seq = 0;
  #uid = "";
  #life = "";
  #bornAt = 0;
  #version = 0;
  /** Undefined: not told yet, or not since a body was erased. */
  #state: Json | undefined;
  #changes: Change[] = [];
  #bytes = 0;

  constructor(actor: Travelling) {
    this.#actor = actor;
    this.#verifier = new Verifier({ actor: actor.id });
  }

  /** Of the last event. */
  get seq(): number {
    return this.#seq;
  }

  /** Whether the event holds the whole state. Throws `STORE_CORRUPT`; `data.seq` is the event. */
  event(event: ChainEvent): boolean {
    if (!this.#verifier.add(event)) throw this.#flaw();
    this.#seq += 1;
    const { life, at } = readHeader(event);
    if (!isTime(at)) throw flawed(this.#seq, "No calendar has its time: the file was changed.");
    if (this.#seq === 1) this.#uid = life;
    if (life !== this.#life) [this.#life, this.#bornAt] = [life, at];
    const body = this.#tried(() => readBody(event));
    if (body !== undefined) this.#version = body.version;
    if (body === undefined || body.state !== undefined) {
      this.#state = body?.state;
      this.#forget();
      return body !== undefined;
    }
    this.#changes.push({ patch: body.patch, bytes: event.body?.length ?? 0 });
    this.#bytes += event.body?.length ?? 0;
    if (this.#changes.length >= MOST_CHANGES || this.#bytes >= MOST_BYTES) this.#apply();
    return false;
  }

  /** The state after the last event. Throws `STORE_CORRUPT` unless head, row and state are those the chain proves. */
  end(): Json {
    const verdict = this.#verifier.end();
    if (verdict.flaw) throw this.#flaw();
    const { id, row, seq, head } = this.#actor;
    const say = (why: string): StoreError => flawed(this.#seq, why);
    if (seq !== this.#seq || head !== verdict.head)
      throw say(`${id} is said to end at event ${seq}, ${head.slice(0, 12)}…; its chain ends at event ${this.#seq}: events are missing.`);
    if (row.life !== this.#life) throw say(`Its row is of the life ${row.life}, its last event of the life ${this.#life}.`);
    if (row.version !== this.#version) throw say(`Its row is of state version ${row.version}, its last event of version ${this.#version}.`);
    if (row.uid !== this.#uid) throw say(`Its uid is ${row.uid}, and its chain begins with the life ${this.#uid}.`);
    if (row.createdAt !== this.#bornAt) throw say(`Its life is said to begin at ${row.createdAt}, and began at ${this.#bornAt}.`);
    this.#apply();
    const state = this.#state;
    if (state === undefined) throw say("No event holds a whole state to begin from.");
    return this.#tried(() => {
      check(state);
      return state;
    });
  }

  #apply(): void {
    let state = this.#state;
    if (state !== undefined) {
      const start = state;
      state = this.#tried(() => this.#changes.reduce((told, { patch }) => (patch === undefined ? told : apply(told, patch)), start));
    }
    this.#state = state;
    this.#forget();
  }

  #forget(): void {
    this.#changes = [];
    this.#bytes = 0;
  }

  #tried<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      throw flawed(this.#seq, error instanceof Error ? error.message : String(error), error);
    }
  }

  #flaw(): StoreError {
    const { flaw } = this.#verifier.end();
    return flawed(flaw?.seq ?? this.#seq + 1, flaw === undefined ? "It does not verify." : `${flaw.message} (${flaw.code})`);
  }
}
