/** A compiled core module. Node's types know nothing of WebAssembly, and the DOM's are not wanted here: these are the parts used. */
export interface CoreModule {
  readonly [Symbol.toStringTag]: "WebAssembly.Module";
}

export interface CoreMemory {
  readonly buffer: ArrayBuffer;
}

/** What a core function takes and gives: i32 and f64 are numbers, i64 is a bigint. */
export type CoreValue = number | bigint;

/** What it gives is checked where it is used: its type cannot be asked for. */
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
  /** Absent where the engine cannot suspend a guest. */
  readonly Suspending?: new (host: HostFunction) => object;
  readonly promising?: (core: CoreFunction) => (...args: readonly CoreValue[]) => Promise<unknown>;
}

declare const WebAssembly: Api;

export const engine: Api = WebAssembly;
