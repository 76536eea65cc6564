// Owns: the messages between the main thread and a worker.
import type { CallOutcome, LocalCall } from "../abi/run-call.ts";
import type { CoreModule } from "../abi/webassembly.ts";
import type { Component } from "../component/component.ts";
import type { HostCall } from "../sandbox.ts";
import type { WitValue } from "../wit.ts";
import type { ImportName } from "../component/world.ts";

/** What a worker is started with: shared memory that can be read even while a guest spins. */
export interface WorkerStart {
  readonly meter: SharedArrayBuffer;
  readonly recorder: SharedArrayBuffer;
}

/** Messages to a worker. `call`: the number of an attempt, unique in this worker. */
export type ToWorker =
  /** Sent before the first call that uses it. The component's `module` is empty, since it is in the compiled one. */
  | { readonly kind: "module"; readonly key: string; readonly module: CoreModule; readonly component: Component }
  | { readonly kind: "unload"; readonly key: string }
  | { readonly kind: "call"; readonly call: number; readonly guest: string; readonly key: string; readonly local: LocalCall }
  /** The answer to a `wait`. */
  | { readonly kind: "answer"; readonly call: number; readonly result: WitValue }
  | { readonly kind: "refusal"; readonly call: number; readonly message: string }
  /** Its caller has left. */
  | { readonly kind: "abort"; readonly call: number }
  | { readonly kind: "drop"; readonly guests: readonly string[] };

/** How a call ended in its worker. `no-room`: the process has no address space for its memory. */
export type Ending = CallOutcome | { readonly end: "no-room"; readonly did: readonly HostCall[] };

/** Messages from a worker. `did`: host calls answered in the worker since its last message about that call. */
export type FromWorker =
  /** The recorder was full. */
  | { readonly kind: "calls"; readonly call: number; readonly did: readonly HostCall[] }
  | {
      readonly kind: "wait";
      readonly call: number;
      readonly did: readonly HostCall[];
      readonly name: ImportName;
      readonly args: readonly WitValue[];
      /** Bytes of its instance's memory. */
      readonly bytes: number;
    }
  | {
      readonly kind: "end";
      readonly call: number;
      readonly ending: Ending;
      /** Bytes of its instance's memory; undefined if the instance was dropped. */
      readonly instanceBytes: number | undefined;
      /** Guests whose instances were dropped to free address space. */
      readonly evicted: readonly string[];
    };

/** Copying a smaller buffer is cheaper than transferring it. */
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

/** The large buffers of values that are not used afterwards. They are transferred, not copied. */
export function transferablesOf(values: readonly WitValue[]): readonly ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) collect(value, buffers);
  return [...buffers];
}

/** The outcome of a call that exceeded its time. */
export function tooLong(callMs: number): { readonly end: "killed"; readonly why: "time"; readonly message: string } {
  return { end: "killed", why: "time", message: `The guest computed for more than ${callMs} ms in one call: let it do less in each.` };
}
