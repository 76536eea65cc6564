// Owns: the interface of a sandbox: calls into guests, their limits, host calls and outcomes. Does not own: the pool of workers that implements it (pool/guest-pool.ts).
import type { Component } from "./component/component.ts";
import type { ExportName, ImportName } from "./component/world.ts";
import type { WitValue } from "./wit.ts";

/** The bounds of one call of a guest. */
export interface GuestLimits {
  /** Processor time that one call may use, in milliseconds. Time spent waiting for the host does not count. */
  readonly callMs: number;
  /** Size of its linear memory in bytes, a multiple of 65,536. */
  readonly memoryBytes: number;
  /** Host calls per call. */
  readonly hostCalls: number;
  /** Bytes of the arguments and results of all host calls of one call. */
  readonly hostBytes: number;
  /** Bytes that a call may return, its state and its reply together. */
  readonly resultBytes: number;
}

/** One host call. `result` is what the guest received; undefined for an import without a result. */
export interface HostCall {
  readonly name: ImportName;
  readonly args: readonly WitValue[];
  readonly result: WitValue;
}

/** Handles the imports of one call, on the main thread. Each attempt at the call gets a new one. */
export interface GuestHost {
  /**
   * Called for imports that are not answered in the worker. Returns the import's result, `{ ok }` or `{ err }` if its type is a
   * WIT result. If it throws, the guest receives `{ err }` with the message; an import without a WIT result traps.
   */
  call(name: ImportName, args: readonly WitValue[]): Promise<ImportResult>;
}

/** The result of an import. */
export interface ImportResult {
  readonly result: WitValue;
  /** It had an external effect that cannot be undone. */
  readonly lasting?: boolean;
}

/** One call into a guest, for a sandbox to run. */
export interface GuestCall {
  /** Identifies the guest. An existing instance of it is reused. Calls of one guest run one at a time. */
  readonly guest: string;
  readonly component: Component;
  readonly export: ExportName;
  readonly state: Uint8Array | undefined;
  /** The parameters after the state. */
  readonly params: readonly WitValue[];
  /** Milliseconds since 1970. `timing.now` returns it throughout the call. */
  readonly at: number;
  /** 32 hex digits. `random` derives from it. */
  readonly seed: string;
  /** The environment variables that the guest may read. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether `environment.list-vars` lists them. Default: true. */
  readonly listVariables?: boolean;
  /** The most bytes that `random` returns at a time, and its largest integer. Default: 1 MiB, and 2^63 - 1. */
  readonly random?: { readonly maxBytes: number; readonly maxInt: bigint };
  /** Answered in the worker, without a host call. */
  readonly outstanding: readonly string[];
  readonly children: readonly string[];
  readonly limits: GuestLimits;
  host(): GuestHost;
  readonly signal: AbortSignal;
}

/** How a call ended. `did`: all host calls in order, including those answered in the worker (`log`, `now`, `random`). */
export type GuestOutcome = { readonly did: readonly HostCall[]; readonly host: GuestHost } & (
  | {
      readonly end: "ok";
      readonly state: Uint8Array | undefined;
      /** The second value that the export returned, after the state. */ readonly back: WitValue;
    }
  /** The guest returned an error. */
  | { readonly end: "error"; readonly message: string }
  | { readonly end: "trap"; readonly message: string }
  /** It exceeded a limit. */
  | { readonly end: "killed"; readonly why: "time" | "host-calls" | "bytes"; readonly message: string }
  /**
   * Not the guest's fault, and not retried: its worker died after a host call with a lasting effect, or died too often (three
   * times, ten if another guest was killed), or no memory could be allocated for it.
   */
  | { readonly end: "lost"; readonly message: string }
);

/** Runs guests in workers. A guest that spins is killed, and the calls of its neighbours run again. */
export interface Sandbox extends AsyncDisposable {
  /** Throws only the signal's reason, or that the sandbox is closed. An instance whose call did not end "ok" is discarded. */
  run(call: GuestCall): Promise<GuestOutcome>;
  /** Discards the instance of that guest. */
  forget(guest: string): void;
  /** Bytes of memory of that guest's instance after its last call; undefined if there is no instance. */
  memoryOf(guest: string): number | undefined;
  /** Instances and workers now; calls killed and workers started in total. */
  readonly measures: { readonly instances: number; readonly workers: number; readonly killed: number; readonly started: number };
}
