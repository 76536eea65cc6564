// Owns: WASI 0.2 for guests: time, randomness and a log, derived from the call. Everything else traps.
import { GuestTrap } from "../abi/webassembly.ts";
import { GuestRandom } from "../abi/imports.ts";

/** The virtual time of a call, in nanoseconds since 1970. */
interface CallTime {
  now(): bigint;
  /** Waiting for a timer advances the time at once. */
  advanceTo(to: bigint): void;
}

/** The glue converts it to the error of a WIT result, with this payload. */
class Closed extends Error {
  readonly payload = { tag: "closed" };
}

class StreamError {
  toDebugString(): string {
    return "closed";
  }
}

/** Ready at a time, or immediately. */
class Pollable {
  readonly #time: CallTime | undefined;
  readonly #at: bigint;

  constructor(time?: CallTime, at = 0n) {
    this.#time = time;
    this.#at = at;
  }

  ready(): boolean {
    return this.#time === undefined || this.#time.now() >= this.#at;
  }

  block(): void {
    if (!this.ready()) this.#time?.advanceTo(this.#at);
  }

  static poll(all: readonly Pollable[]): Uint32Array {
    if (all.length === 0) throw new GuestTrap("The guest polls nothing, which would never end.");
    if (!all.some((one) => one.ready())) all.reduce((first, one) => (one.#at < first.#at ? one : first)).block();
    return Uint32Array.from([...all.keys()].filter((at) => all[at]?.ready()));
  }
}

/** An empty stream. */
class InputStream {
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

type Print = (bytes: Uint8Array) => void;

/**
 * Each write becomes a log line. A character may come in two writes of one call, for each of which the guest may ask for the stream; a call
 * does not depend on the one before it.
 */
function printing(host: Pick<WasiHost, "call" | "print">): Print {
  let of: WasiCall | undefined;
  let decoder = new TextDecoder();
  return (bytes) => {
    const call = host.call();
    if (call !== of) decoder = new TextDecoder();
    of = call;
    host.print(decoder.decode(bytes, { stream: true }));
  };
}

class OutputStream {
  readonly #print: Print;

  constructor(print: Print) {
    this.#print = print;
  }

  checkWrite(): bigint {
    return MAX_WRITE;
  }

  write(bytes: Uint8Array): void {
    this.#print(bytes);
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

/** The source of time and randomness; a new object for each call. */
interface WasiCall {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly seed: string;
}

export interface WasiHost {
  /** Undefined while the instance starts. */
  call(): WasiCall | undefined;
  /** Receives its output to stdout and stderr. */
  print(text: string): void;
  /** Counts a WASI call. Throws above the limit. */
  count(): void;
  /** Marks the guest as broken, and returns the error to throw into it. */
  fail(thrown: unknown): Error;
}

type Interfaces = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Used while an instance starts, so that it does not depend on the first call. */
const START: WasiCall = { at: 0, seed: "" };

const RANDOM_BYTES = 1_048_576n;
const NANOSECONDS = 1_000_000_000n;
/** The latest time of 64 bits. */
const LAST = 2n ** 64n - 1n;

const nothing = (): undefined => undefined;
const datetime = (time: bigint): object => ({ seconds: time / NANOSECONDS, nanoseconds: Number(time % NANOSECONDS) });

/** The error for a member that is not offered. */
export const deniedError = (what: string): GuestTrap =>
  new GuestTrap(`The guest called ${what} of WASI, which guests are not given: use Theater's own interfaces, which its manifest grants.`);

const exit = (): never => trap("The guest exited: return from its handlers instead.");

/** WASI for one instance, by interface. Members have the names that the glue uses. */
export function wasiOf(host: WasiHost): Interfaces {
  const { time, draw } = callSources(host);
  const [stdout, stderr] = [printing(host), printing(host)];
  const u64 = (): bigint => new DataView(draw(8n).slice().buffer).getBigUint64(0);
  const timer = (at: bigint): Pollable => new Pollable(time, at < LAST ? at : LAST);
  return {
    "wasi:cli/environment": { getEnvironment: () => [], getArguments: () => [], initialCwd: nothing },
    "wasi:cli/exit": { exit, exitWithCode: exit },
    "wasi:cli/stdin": { getStdin: () => new InputStream() },
    "wasi:cli/stdout": { getStdout: () => new OutputStream(stdout) },
    "wasi:cli/stderr": { getStderr: () => new OutputStream(stderr) },
    "wasi:cli/terminal-stdin": { getTerminalStdin: nothing },
    "wasi:cli/terminal-stdout": { getTerminalStdout: nothing },
    "wasi:cli/terminal-stderr": { getTerminalStderr: nothing },
    "wasi:clocks/monotonic-clock": {
      now: () => time.now(),
      resolution: () => 1_000_000n,
      subscribeInstant: timer,
      subscribeDuration: (length: bigint) => timer(time.now() + length),
    },
    "wasi:clocks/wall-clock": { now: () => datetime(time.now()), resolution: () => datetime(1_000_000n) },
    "wasi:filesystem/preopens": { getDirectories: () => [] },
    "wasi:filesystem/types": { filesystemErrorCode: nothing },
    "wasi:io/error": { Error: StreamError },
    "wasi:io/poll": { Pollable, poll: (all: readonly Pollable[]) => Pollable.poll(all) },
    "wasi:io/streams": { InputStream, OutputStream },
    "wasi:random/random": { getRandomBytes: draw, getRandomU64: u64 },
    "wasi:random/insecure": { getInsecureRandomBytes: draw, getInsecureRandomU64: u64 },
    "wasi:random/insecure-seed": { insecureSeed: () => [u64(), u64()] },
  };
}

function trap(message: string): never {
  throw new GuestTrap(message);
}

function callSources(host: WasiHost): { readonly time: CallTime; readonly draw: (length: bigint) => Uint8Array } {
  let of: WasiCall | undefined;
  let now = 0n;
  let random = new GuestRandom("");
  const refresh = (): void => {
    const call = host.call() ?? START;
    if (call === of) return;
    of = call;
    now = BigInt(Math.trunc(call.at)) * 1_000_000n;
    // Independent of Theater's `random`, which uses the same seed.
    random = new GuestRandom(`wasi:${call.seed}`);
  };
  return {
    time: {
      now() {
        refresh();
        return now;
      },
      advanceTo: (to) => void (now = to),
    },
    draw(length) {
      refresh();
      if (length > RANDOM_BYTES) trap(`The guest asked for ${length} random bytes, and is given ${RANDOM_BYTES} at a time.`);
      return random.bytes(Number(length));
    },
  };
}
