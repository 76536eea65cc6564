import type { Caller } from "./door.ts";
import { countValues } from "./message-values.ts";
import { peerOf } from "./peer.ts";

/** Up to here a message costs no thought: as many as may wait hold little. In bytes, or characters. */
const LIGHT = 4_096;
/** About what a value takes beside its text: `[{},{}]` takes twenty times as much memory as it has characters. */
const VALUE = 32;

export const isHeavy = (message: Uint8Array | string): boolean => message.length > LIGHT;

/**
 * What heavy messages take that are being worked on, all clients together. Each may be within its own bounds, and as many as may wait
 * for actors or for a person be more than the process can hold. One caller has half of the room at most.
 */
export class HeldMessages {
  readonly #most: number;
  readonly #refusal: () => Error;
  readonly #callers = new Map<string, number>();
  #held = 0;

  /** In bytes, about. `refusal`: what is thrown where there is no room. */
  constructor(most: number, refusal: () => Error) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /** Counts the message until `run` has settled. Throws where there is no room; for a first message there always is. */
  during<T>(message: Uint8Array | string, { principal, peer }: Caller, run: () => T | Promise<T>): T | Promise<T> {
    const who = principal ?? `peer ${peerOf(peer)}`;
    const weight = weightOf(message);
    this.#take(who, weight);
    let result: T | Promise<T> | undefined;
    try {
      result = run();
    } finally {
      if (!(result instanceof Promise)) this.#letGo(who, weight);
    }
    return result instanceof Promise ? result.finally(() => this.#letGo(who, weight)) : result;
  }

  #take(who: string, weight: number): void {
    const own = this.#callers.get(who) ?? 0;
    if (this.#held > 0 && this.#held + weight > this.#most) throw this.#refusal();
    if (own > 0 && own + weight > this.#most / 2) throw this.#refusal();
    this.#held += weight;
    this.#callers.set(who, own + weight);
  }

  #letGo(who: string, weight: number): void {
    this.#held -= weight;
    const left = (this.#callers.get(who) ?? 0) - weight;
    if (left > 0) this.#callers.set(who, left);
    else this.#callers.delete(who);
  }
}

/** About how much memory a JSON message takes once it is read. */
function weightOf(message: Uint8Array | string): number {
  const { values, empty } = countValues(message);
  return message.length + VALUE * (values - 1 + empty);
}
