import { WasmError } from "../wasm-error.ts";
import type { Reader } from "./reader.ts";

export type CoreValue = "i32" | "i64" | "f32" | "f64" | "v128" | "funcref" | "externref" | "reference";

export interface CoreSignature {
  readonly params: readonly CoreValue[];
  readonly results: readonly CoreValue[];
}

/** In pages or elements. */
export interface Limits {
  readonly min: number;
  readonly max?: number;
}

const VALUES = new Map<number, CoreValue>([
  [0x7f, "i32"],
  [0x7e, "i64"],
  [0x7d, "f32"],
  [0x7c, "f64"],
  [0x7b, "v128"],
  [0x70, "funcref"],
  [0x6f, "externref"],
]);

/** References to types: nullable, and not. */
const REF_NULL = 0x63;
const REF = 0x64;

export function coreValue(reader: Reader): CoreValue {
  const code = reader.u8();
  if (code === REF || code === REF_NULL) {
    reader.s33();
    return "reference";
  }
  return VALUES.get(code) ?? "reference";
}

const values = (reader: Reader): CoreValue[] => Array.from({ length: reader.count() }, () => coreValue(reader));

/** Objects that the engine collects would live outside the memory that is bounded: only functions have types here. */
export function coreSignature(reader: Reader): CoreSignature {
  if (reader.u8() !== 0x60)
    throw new WasmError(
      "MEMORY_LIMIT",
      "The module declares garbage-collected types, and what they hold cannot be bounded: build it without them (for a linear memory).",
    );
  return { params: values(reader), results: values(reader) };
}

const limitless = (what: string, why: string): WasmError =>
  new WasmError("MEMORY_LIMIT", `The module's ${what} ${why}: build it for wasm32, without threads.`);

/** Of a memory or a table of 32 bits, shared with nobody. */
export function limits(reader: Reader, what: "memory" | "table"): Limits {
  const flags = reader.u8();
  if (flags > 7) throw limitless(what, "has pages of another size than 64 KiB");
  if ((flags & 4) !== 0) throw limitless(what, "is addressed with 64 bits");
  if ((flags & 2) !== 0) throw limitless(what, "is shared between threads");
  const min = reader.u32();
  return (flags & 1) === 0 ? { min } : { min, max: reader.u32() };
}

/** What a table holds: functions, or what its host gave it. Other references may be to what nothing bounds. */
export function tableElement(reader: Reader): number {
  const code = reader.u8();
  if (VALUES.get(code) !== "funcref" && VALUES.get(code) !== "externref")
    throw new WasmError("MEMORY_LIMIT", "The module has a table of typed references: build it without the function-references proposal.");
  return code;
}
