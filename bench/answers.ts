import { isDeepStrictEqual } from "node:util";

/** Checks every response of a burst. */
export interface Answers {
  /** Whether the body equals the expected response to the request with this id. */
  good(body: string, id: number): boolean;
  /** What is wrong with the responses as a whole, although each of them was good. Undefined if nothing is. */
  flaw(): string | undefined;
}

/** A count that no run reaches. Used to find the text around a count. */
const MARK = 987_654_321_012;

/**
 * Checks the replies of one counter. Over all connections, each count must occur exactly once. `result` makes the expected result for a
 * count. Texts are compared first and parsed only if they differ, since the load must cost less than the server that it measures.
 */
export class Counted implements Answers {
  readonly #result: (count: number) => unknown;
  readonly #frames: string[][] = [];
  #replies = 0;
  #sum = 0;
  #least = Number.POSITIVE_INFINITY;
  #most = 0;

  constructor(result: (count: number) => unknown) {
    this.#result = result;
  }

  good(body: string, id: number): boolean {
    const frame = (this.#frames[id] ??= JSON.stringify(reply(id, this.#result(MARK))).split(String(MARK)));
    const from = frame[0]?.length ?? 0;
    let count = Number.parseInt(body.slice(from, from + 15), 10);
    if (frame.join(String(count)) !== body) count = this.#parsed(body, id);
    if (!Number.isInteger(count)) return false;
    this.#replies += 1;
    this.#sum += count;
    this.#least = Math.min(this.#least, count);
    this.#most = Math.max(this.#most, count);
    return true;
  }

  flaw(): string | undefined {
    const wanted = this.#replies === 0 ? 0 : this.#most - this.#least + 1;
    if (wanted === this.#replies && this.#sum === ((this.#least + this.#most) * wanted) / 2) return undefined;
    if (this.#replies === 0) return undefined;
    return `${this.#replies} replies had counts from ${this.#least} to ${this.#most}: one was lost or came twice`;
  }

  #parsed(body: string, id: number): number {
    const message = jsonIn(body);
    const text: unknown = Object(Object(Object(message)["result"])["content"]?.[0])["text"];
    const count = Number.parseInt(String(text).replace(/^\D+/, ""), 10);
    return isDeepStrictEqual(message, reply(id, this.#result(count))) ? count : Number.NaN;
  }
}

/** Expects the same result in every reply. */
export class Same implements Answers {
  readonly result: unknown;
  readonly #texts: string[] = [];

  constructor(result: unknown) {
    this.result = result;
  }

  good(body: string, id: number): boolean {
    if (body === this.#texts[id]) return true;
    if (!isDeepStrictEqual(jsonIn(body), reply(id, this.result))) return false;
    this.#texts[id] = body;
    return true;
  }

  flaw(): undefined {}
}

/** Checks each connection separately, for servers with an actor per connection. */
export const perConnection = (answers: () => Answers): Answers => {
  const checkers: Answers[] = [];
  return {
    good: (body, id) => (checkers[id] ??= answers()).good(body, id),
    flaw: () => checkers.map((one) => one?.flaw()).find((flaw) => flaw !== undefined),
  };
};

const reply = (id: number, result: unknown): object => ({ jsonrpc: "2.0", id, result });

/** The message in a body: the body itself, or the last event of a stream. */
export const jsonIn = (body: string): unknown => {
  const events = body.startsWith("{") ? [] : body.split(/\r?\n/).filter((text) => text.startsWith("data:") && text.length > 6);
  try {
    return JSON.parse(events.at(-1)?.slice("data:".length) ?? body);
  } catch {
    return undefined;
  }
};
