// Owns: the parts of JavaScript's WebAssembly API that are used, and its errors as sentences about the guest.
/** A compiled core module. Node's types do not declare WebAssembly, and we do not include those of the DOM. */
export interface CoreModule {
  readonly [Symbol.toStringTag]: "WebAssembly.Module";
}

export interface CoreMemory {
  readonly buffer: ArrayBuffer;
}

/** A parameter or result of a core function: a number for i32 and f64, a bigint for i64. */
export type CoreValue = number | bigint;

/** The caller checks the result, since the type of a core function cannot be queried. */
export type CoreFunction = (...args: readonly CoreValue[]) => unknown;

export type HostFunction = (...args: readonly CoreValue[]) => CoreValue | undefined | Promise<CoreValue | undefined>;

type Thrown<Name extends string> = abstract new () => Error & { readonly name: Name };

interface Api {
  readonly Module: new (bytes: Uint8Array) => CoreModule;
  readonly Instance: new (
    module: CoreModule,
    imports: Readonly<Record<string, Readonly<Record<string, object>>>>,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly Memory: abstract new () => CoreMemory;
  readonly Exception: abstract new () => object;
  readonly RuntimeError: Thrown<"RuntimeError">;
  readonly CompileError: Thrown<"CompileError">;
  readonly LinkError: Thrown<"LinkError">;
  /** Absent if the JavaScript engine cannot suspend WebAssembly. */
  readonly Suspending?: new (host: HostFunction) => object;
  readonly promising?: (core: CoreFunction) => (...args: readonly CoreValue[]) => Promise<unknown>;
}

declare const WebAssembly: Api;

export const webAssembly: Api = WebAssembly;

/** The guest trapped or violated a rule. The message is a sentence about the guest. */
export class GuestTrap extends Error {
  readonly code = "WASM_TRAP";
  override readonly name = "GuestTrap";
}

/** It exceeded a limit. */
export class GuestKilled extends Error {
  readonly code = "WASM_KILLED";
  override readonly name = "GuestKilled";
  readonly why: "host-calls" | "bytes";

  constructor(why: "host-calls" | "bytes", message: string) {
    super(message);
    this.why = why;
  }
}

/** The process has no address space for another memory. Drop instances, then try again. */
export class NoRoom extends Error {
  readonly code = "WASM_NO_ROOM";
  override readonly name = "NoRoom";
}

/** By the messages of V8. */
const TRAPS: Readonly<Record<string, string>> = {
  unreachable: "The guest gave up: `unreachable` was executed.",
  "memory access out of bounds": "The guest read or wrote outside its memory.",
  "divide by zero": "The guest divided an integer by zero.",
  "remainder by zero": "The guest took the remainder of a division by zero.",
  "divide result unrepresentable": "The guest divided integers with a result that does not fit.",
  "float unrepresentable in integer range": "The guest made an integer of a float that does not fit.",
  "table index is out of bounds": "The guest called a function outside its table.",
  "null function or function signature mismatch": "The guest called a function that is missing or has another type.",
};

/** Converts what was thrown while the guest ran. */
export function guestError(thrown: unknown): GuestTrap | GuestKilled | NoRoom {
  if (thrown instanceof GuestTrap || thrown instanceof GuestKilled || thrown instanceof NoRoom) return thrown;
  if (thrown instanceof webAssembly.Exception) return new GuestTrap("The guest threw an exception that it did not catch.");
  if (!(thrown instanceof Error)) return new GuestTrap("The guest ended with something that is no error.");
  const { message } = thrown;
  if (thrown instanceof webAssembly.RuntimeError) return new GuestTrap(TRAPS[message] ?? `The guest trapped: ${message}.`);
  if (thrown instanceof RangeError) {
    if (message.includes("call stack")) return new GuestTrap("Stack overflow: the guest's calls were nested too deeply.");
    if (message.includes("ut of memory")) return new NoRoom("There is no room for one more guest's memory in this process.");
  }
  if (thrown instanceof webAssembly.CompileError) return new GuestTrap(`The guest's module does not compile: ${message}.`);
  if (thrown instanceof webAssembly.LinkError || message.includes("Import #"))
    return new GuestTrap(`The guest's module imports what its component does not: ${message}.`);
  // V8 throws it when a number is passed as i64, or a bigint as i32.
  if (thrown instanceof TypeError) return new GuestTrap(`A core function has another type than the component says: ${message}.`);
  return new GuestTrap(`The guest's call failed: ${message}`);
}

/** Compiles a core module. Throws GuestTrap. */
export function compile(bytes: Uint8Array): CoreModule {
  try {
    return new webAssembly.Module(bytes);
  } catch (thrown) {
    throw guestError(thrown);
  }
}
