// The minimal implementation of a call: a message with id, seed and time, frozen arguments, a copy-on-write draft, a frozen state, the parts
// of an event, and a promise. It has no schema, mailbox, limits, subscribers or error handling.
import { type Outgoing, systemClock, systemEntropy } from "troupe/contract";
import { freezeDeep } from "../src/core/contract/internal.ts";

type Row = Record<PropertyKey, unknown>;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;

const [OBJECT, LIST] = [{}, []];

/** The draft of an object or array of the state during a turn. */
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
    // Not `slice`, which takes twenty times as long for a frozen array.
    const open: unknown = Array.isArray(this.#before) ? [...this.#before] : { ...this.#before };
    if (isRow(open)) this.#now = open;
    if (this.#above !== undefined) this.#above.#open()[this.#key] = this.#now;
    return this.#now;
  }
}

/** Returns a function that sends `outgoing` to one actor, whose state begins as `initial()`. `run` is its handler. */
export const minimalCall = <S extends object>(initial: () => S, outgoing: Outgoing, run: (state: S, args: unknown) => unknown) => {
  const first: unknown = freezeDeep(initial());
  const actors = new Map([[outgoing.to, { state: isRow(first) ? first : {}, seq: 0, at: 0, last: {} }]]);
  // Gives the proxy its type; it is never read.
  const shape = initial();
  return (): Promise<unknown> => {
    const actor = actors.get(outgoing.to);
    if (actor === undefined) throw new Error(`There is no ${outgoing.to}.`);
    const { to, action, args } = outgoing;
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
