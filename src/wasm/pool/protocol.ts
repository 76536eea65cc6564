import type { CallOutcome, CoreModule, LocalCall } from "../abi/index.ts";
import type { Component } from "../component.ts";
import type { HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../world/interfaces.ts";

/** What a worker is started with: the meter says which call is inside it, though it answers nobody. */
export interface Start {
  readonly meter: SharedArrayBuffer;
}

/** To a worker. `call`: the number of one attempt at a call, never used twice. */
export type ToWorker =
  /** Before the first call that names it. The component's own `module` is empty: it went into the compiled one. */
  | { readonly kind: "module"; readonly key: string; readonly module: CoreModule; readonly component: Component }
  | { readonly kind: "unload"; readonly key: string }
  | { readonly kind: "call"; readonly call: number; readonly guest: string; readonly key: string; readonly local: LocalCall }
  /** To its `wait`. */
  | { readonly kind: "answer"; readonly call: number; readonly result: WitValue }
  | { readonly kind: "refusal"; readonly call: number; readonly message: string }
  /** Nobody waits for it any longer. */
  | { readonly kind: "abort"; readonly call: number }
  | { readonly kind: "drop"; readonly guests: readonly string[] };

/** One host call of an outcome's `did`: those the main thread answered it knows, by their number. */
export type Told = HostCall | number;

type Plain<T> = T extends unknown ? Omit<T, "did"> : never;

/** How a call ended in its worker. `no-room`: the process had no address space for its memory. */
export type Ending = Plain<CallOutcome> | { readonly end: "no-room" };

export type FromWorker =
  | { readonly kind: "wait"; readonly call: number; readonly name: ImportName; readonly args: readonly WitValue[] }
  | {
      readonly kind: "end";
      readonly call: number;
      readonly ending: Ending;
      readonly did: readonly Told[];
      /** Of its instance's memory; undefined: the instance is gone. */
      readonly keptBytes: number | undefined;
      /** Whose instances went to make room. */
      readonly dropped: readonly string[];
    };
