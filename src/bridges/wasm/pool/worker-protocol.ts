import type { CallOutcome, LocalCall } from "../abi/run-call.ts";
import type { CoreModule } from "../abi/webassembly.ts";
import type { Component } from "../component/component.ts";
import type { HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";

/** What a worker is started with: memory that tells of a guest though it lets nobody answer. */
export interface WorkerStart {
  readonly meter: SharedArrayBuffer;
  readonly recorder: SharedArrayBuffer;
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

/** How a call ended in its worker. `no-room`: the process had no address space for its memory. */
export type Ending = CallOutcome | { readonly end: "no-room"; readonly did: readonly HostCall[] };

/** `did`: host calls that were answered in the worker, since the last message about that call. */
export type FromWorker =
  /** There were too many of them to keep. */
  | { readonly kind: "told"; readonly call: number; readonly did: readonly HostCall[] }
  | {
      readonly kind: "wait";
      readonly call: number;
      readonly did: readonly HostCall[];
      readonly name: ImportName;
      readonly args: readonly WitValue[];
      /** Of its instance's memory. */
      readonly bytes: number;
    }
  | {
      readonly kind: "end";
      readonly call: number;
      readonly ending: Ending;
      /** Of its instance's memory; undefined: the instance is gone. */
      readonly instanceBytes: number | undefined;
      /** Whose instances went to make room. */
      readonly evicted: readonly string[];
    };

/** Below it, a copy is cheaper than handing a buffer over. */
const MIN_TRANSFER_BYTES = 16_384;

function collect(value: WitValue, into: Set<ArrayBuffer>): void {
  if (value instanceof Uint8Array) {
    const { buffer } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= MIN_TRANSFER_BYTES && buffer.byteLength === value.byteLength)
      into.add(buffer);
  } else if (typeof value === "object") {
    for (const part of Object.values(value)) collect(part, into);
  }
}

/** Large buffers of values that nobody reads afterwards: they go to the other thread as they are. */
export function transferablesOf(values: readonly WitValue[]): readonly ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) collect(value, buffers);
  return [...buffers];
}

/** How a call ends that computed for longer than it may. */
export function tooLong(callMs: number): { readonly end: "killed"; readonly why: "time"; readonly message: string } {
  return { end: "killed", why: "time", message: `The guest computed for more than ${callMs} ms in one call: let it do less in each.` };
}
