import type { Component } from "./component/component.ts";
import type { ExportName, ImportName } from "./component/world.ts";
import type { WitValue } from "./wit.ts";

/** The bounds of one call of a guest. */
export interface GuestLimits {
  /** How long it may compute in one call, in milliseconds: while it waits for its host, nothing is counted. */
  readonly callMs: number;
  /** Of its linear memory, a multiple of 65,536. */
  readonly memoryBytes: number;
  /** In one call. */
  readonly hostCalls: number;
  /** Of arguments and results of all host calls of one call. */
  readonly hostBytes: number;
  /** What it returns, its state and its reply, at most. */
  readonly resultBytes: number;
}

/** One host call as it was made. `result` is what the guest was given; undefined where the import has none. */
export interface HostCall {
  readonly name: ImportName;
  readonly args: readonly WitValue[];
  readonly result: WitValue;
}

/** What the imports of one call do, on this side of the worker. Made anew each time the call is tried. */
export interface GuestHost {
  /**
   * Imports that wait. What it gives is the import's result, `{ ok }` or `{ err }` where that is a result. A throw: the
   * guest is given `{ err }` with the error's message, where the import has one; else it is a trap.
   */
  call(
    name: ImportName,
    args: readonly WitValue[],
  ): Promise<{ readonly result: WitValue; /** It did something outside that cannot be undone. */ readonly lasting?: boolean }>;
}

/** One call into a guest, for a sandbox to run. */
export interface GuestCall {
  /** Whose instance it runs in, if there is one. Of one guest there is one call at a time. */
  readonly guest: string;
  readonly component: Component;
  readonly export: ExportName;
  readonly state: Uint8Array | undefined;
  /** The tuple that follows the state. */
  readonly params: readonly WitValue[];
  /** Milliseconds since 1970: `timing.now`, the same throughout the call. */
  readonly at: number;
  /** 32 hex digits: `random` follows from it. */
  readonly seed: string;
  /** What `environment` shows. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether `environment.list-vars` lists them. Default: true. */
  readonly listVariables?: boolean;
  /** How many bytes `random` gives at a time, and up to which number. Default: 1 MiB, and 2^63 - 1. */
  readonly random?: { readonly maxBytes: number; readonly maxInt: bigint };
  /** Given without asking the host: these are pure. */
  readonly outstanding: readonly string[];
  readonly children: readonly string[];
  readonly limits: GuestLimits;
  host(): GuestHost;
  readonly signal: AbortSignal;
}

/** How a call ended. `did`: all host calls in order, those answered in the worker (`log`, `now`, `random`) too. */
export type GuestOutcome = { readonly did: readonly HostCall[]; readonly host: GuestHost } & (
  | { readonly end: "ok"; readonly state: Uint8Array | undefined; /** What comes back besides the state. */ readonly back: WitValue }
  /** The guest said so. */
  | { readonly end: "error"; readonly message: string }
  | { readonly end: "trap"; readonly message: string }
  /** It computed longer than it may, or asked for more than it may. */
  | { readonly end: "killed"; readonly why: "time" | "host-calls" | "bytes"; readonly message: string }
  /**
   * For no fault of the guest: its worker died after the host had done something for it that lasts, or too often under it (three
   * times, ten where another guest was killed), or there was no room for its memory. Not tried again.
   */
  | { readonly end: "lost"; readonly message: string }
);

/** Guests in workers: one that spins is killed and its neighbours run again. */
export interface Sandbox extends AsyncDisposable {
  /** Throws only what the signal says, or that it is closed. An instance whose call did not end "ok" is discarded. */
  run(call: GuestCall): Promise<GuestOutcome>;
  /** Whatever is held of that guest goes. */
  forget(guest: string): void;
  /** Instances and workers there are, calls that their worker was ended with, workers started in all. */
  /** Bytes of memory of that guest's instance, after its last call; undefined: there is no instance. */
  memoryOf(guest: string): number | undefined;
  readonly measures: { readonly instances: number; readonly workers: number; readonly killed: number; readonly started: number };
}
