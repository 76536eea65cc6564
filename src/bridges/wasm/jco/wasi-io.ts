import { GuestTrap } from "../abi/errors.ts";

/** A call's time, in nanoseconds since 1970. */
export interface Time {
  now(): bigint;
  /** Nobody waits for a timer: it is later at once. */
  leap(to: bigint): void;
}

/** Thrown where WIT has a result: the glue gives the guest its payload. */
class Closed extends Error {
  readonly payload = { tag: "closed" };
}

export class StreamError {
  toDebugString(): string {
    return "closed";
  }
}

/** Ready at that time, or at once. */
export class Pollable {
  readonly #time: Time | undefined;
  readonly #at: bigint;

  constructor(time?: Time, at = 0n) {
    this.#time = time;
    this.#at = at;
  }

  ready(): boolean {
    return this.#time === undefined || this.#time.now() >= this.#at;
  }

  block(): void {
    if (!this.ready()) this.#time?.leap(this.#at);
  }

  static poll(all: readonly Pollable[]): Uint32Array {
    if (all.length === 0) throw new GuestTrap("The guest polls nothing, which would never end.");
    if (!all.some((one) => one.ready())) all.reduce((first, one) => (one.#at < first.#at ? one : first)).block();
    return Uint32Array.from([...all.keys()].filter((at) => all[at]?.ready()));
  }
}

/** Always at its end. */
export class InputStream {
  read(): never {
    throw new Closed();
  }

  blockingRead(): never {
    throw new Closed();
  }

  skip(): never {
    throw new Closed();
  }

  blockingSkip(): never {
    throw new Closed();
  }

  subscribe(): Pollable {
    return new Pollable();
  }
}

const MAX_WRITE = 65_536n;

/** Each write is a line of the log. */
export class OutputStream {
  readonly #print: (text: string) => void;

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  checkWrite(): bigint {
    return MAX_WRITE;
  }

  write(bytes: Uint8Array): void {
    this.#print(new TextDecoder().decode(bytes));
  }

  blockingWriteAndFlush(bytes: Uint8Array): void {
    this.write(bytes);
  }

  flush(): void {}

  blockingFlush(): void {}

  writeZeroes(): never {
    throw new Closed();
  }

  blockingWriteZeroesAndFlush(): never {
    throw new Closed();
  }

  splice(): never {
    throw new Closed();
  }

  blockingSplice(): never {
    throw new Closed();
  }

  subscribe(): Pollable {
    return new Pollable();
  }
}
