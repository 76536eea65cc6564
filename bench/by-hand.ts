// What no call of an actor can be without, by hand: a message with an id, a seed and a time, frozen arguments, a draft that is copied where it is written, a
// frozen state, what its event is made of, a promise. No schema, no mailbox, no bounds, nobody who listens, and nothing that is thrown is seen to.
import { type Outgoing, systemClock, systemEntropy } from "troupe/contract";
import { freezeDeep } from "../src/core/contract/internal.ts";

type Row = Record<PropertyKey, unknown>;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;

const [OBJECT, LIST] = [{}, []];

/** An object or a list of a state while its turn lasts. */
class Draft implements ProxyHandler<object> {
  readonly #before: Row;
  readonly #above: Draft | undefined;
  readonly #key: PropertyKey;
  #below: Draft | undefined;
  #now: Row;

  constructor(before: Row, above?: Draft, key: PropertyKey = "") {
    this.#before = before;
    this.#now = before;
    this.#above = above;
    this.#key = key;
  }

  get(_target: object, key: PropertyKey): unknown {
    const value = this.#now[key];
    if (!isRow(value)) return value;
    this.#below = new Draft(value, this, key);
    return new Proxy(Array.isArray(value) ? LIST : OBJECT, this.#below);
  }

  set(_target: object, key: PropertyKey, value: unknown): boolean {
    this.#open()[key] = value;
    return true;
  }

  finish(): Row {
    this.#below?.finish();
    return this.#now === this.#before ? this.#now : Object.freeze(this.#now);
  }

  #open(): Row {
    if (this.#now !== this.#before) return this.#now;
    // Not `slice`: of a frozen list it takes twenty times as long.
    const open: unknown = Array.isArray(this.#before) ? [...this.#before] : { ...this.#before };
    if (isRow(open)) this.#now = open;
    if (this.#above !== undefined) this.#above.#open()[this.#key] = this.#now;
    return this.#now;
  }
}

/** Calls of one actor that begins with `initial()`, asked the same each time. `run` is what its author writes. */
export const byHand = <S extends object>(initial: () => S, asked: Outgoing, run: (state: S, args: unknown) => unknown) => {
  const begun: unknown = freezeDeep(initial());
  const actors = new Map([[asked.to, { state: isRow(begun) ? begun : {}, seq: 0, at: 0, last: {} }]]);
  // What the proxy stands for to TypeScript; it holds nothing that is read.
  const shape = initial();
  return (): Promise<unknown> => {
    const actor = actors.get(asked.to);
    if (actor === undefined) throw new Error(`There is no ${asked.to}.`);
    const { to, action, args } = asked;
    freezeDeep(args);
    const message = { id: systemEntropy.hex(16), to, action, args, at: systemClock.now(), seed: systemEntropy.hex(16) };
    const draft = new Draft(actor.state);
    const reply = { ok: run(new Proxy<S>(shape, draft), args) ?? null };
    actor.state = draft.finish();
    actor.seq += 1;
    actor.at = message.at;
    actor.last = { seq: actor.seq, message, state: actor.state, reply };
    return Promise.resolve(reply);
  };
};
