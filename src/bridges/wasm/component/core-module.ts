// Owns: reading the imports, exports and types of a core module. Does not own: bounding its memory (memory-limits.ts), and validating its code, which the compiler does.
import { WasmError } from "../wasm-error.ts";
import { ByteReader, MODULE, preamble, type Section, sections } from "./reader.ts";

type CoreValueType = "i32" | "i64" | "f32" | "f64" | "v128" | "funcref" | "externref" | "reference";

export interface CoreSignature {
  readonly params: readonly CoreValueType[];
  readonly results: readonly CoreValueType[];
}

/** Of a memory in pages, of a table in elements. */
export interface Limits {
  readonly min: number;
  readonly max?: number;
}

const VALUES = new Map<number, CoreValueType>([
  [0x7f, "i32"],
  [0x7e, "i64"],
  [0x7d, "f32"],
  [0x7c, "f64"],
  [0x7b, "v128"],
  [0x70, "funcref"],
  [0x6f, "externref"],
]);

/** Codes of typed references. */
const REF_NULL = 0x63;
const REF = 0x64;

export function readCoreValueType(reader: ByteReader): CoreValueType {
  const code = reader.u8();
  if (code === REF || code === REF_NULL) {
    reader.s33();
    return "reference";
  }
  return VALUES.get(code) ?? "reference";
}

const readCoreValueTypes = (reader: ByteReader): CoreValueType[] => Array.from({ length: reader.count() }, () => readCoreValueType(reader));

/** Refuses other types than those of functions: garbage-collected objects would live outside the bounded memory. */
export function readCoreFunctionType(reader: ByteReader): CoreSignature {
  if (reader.u8() !== 0x60)
    throw new WasmError(
      "MEMORY_LIMIT",
      "The module declares garbage-collected types, and what they hold cannot be bounded: build it without them (for a linear memory).",
    );
  return { params: readCoreValueTypes(reader), results: readCoreValueTypes(reader) };
}

const unboundedError = (what: string, why: string): WasmError =>
  new WasmError("MEMORY_LIMIT", `The module's ${what} ${why}: build it for wasm32, without threads.`);

/** Refuses memories and tables that are shared or have 64-bit addresses. */
export function readLimits(reader: ByteReader, what: "memory" | "table"): Limits {
  const flags = reader.u8();
  if (flags > 7) throw unboundedError(what, "has pages of another size than 64 KiB");
  if ((flags & 4) !== 0) throw unboundedError(what, "is addressed with 64 bits");
  if ((flags & 2) !== 0) throw unboundedError(what, "is shared between threads");
  const min = reader.u32();
  return (flags & 1) === 0 ? { min } : { min, max: reader.u32() };
}

/** Refuses tables of other references than to functions and host objects: what they refer to could not be bounded. */
export function readElementType(reader: ByteReader): number {
  const code = reader.u8();
  if (VALUES.get(code) !== "funcref" && VALUES.get(code) !== "externref")
    throw new WasmError("MEMORY_LIMIT", "The module has a table of typed references: build it without the function-references proposal.");
  return code;
}

export type CoreSort = "func" | "table" | "memory" | "global" | "tag";
export const CORE_SORTS: readonly CoreSort[] = ["func", "table", "memory", "global", "tag"];

export interface CoreImport {
  readonly module: string;
  readonly field: string;
  readonly sort: CoreSort;
  /** Of functions; absent if the type index is out of range. */
  readonly signature?: CoreSignature;
}

/** What can be read of a core module without compiling it. */
export interface CoreModule {
  readonly imports: readonly CoreImport[];
  readonly exports: ReadonlyMap<string, { readonly sort: CoreSort; readonly index: number }>;
  /** The index of the start function. */
  readonly start?: number;
  /** By function index. Imported functions come first. */
  signature(func: number): CoreSignature | undefined;
}

/** The ids of sections. */
export const SECTION = {
  types: 1,
  imports: 2,
  functions: 3,
  tables: 4,
  memories: 5,
  globals: 6,
  exports: 7,
  start: 8,
  tags: 13,
} as const;

/** Yields all sections but the custom ones. The caller must read each to its end. Throws `WasmError`. */
export function coreSections(bytes: Uint8Array): Generator<Section> {
  const reader = new ByteReader(bytes);
  if (preamble(reader) !== MODULE) throw reader.damaged("a core module does not begin as one");
  return sections(reader);
}

/** The limit of V8. */
const MAX_FUNCTIONS = 1_000_000;
const MAX_OTHERS = 100_000;

function boundedCount(reader: ByteReader, max: number, what: string): number {
  const count = reader.count();
  if (count > max) throw reader.damaged(`${count} ${what} are more than ${max}`);
  return count;
}

function readCoreSort(reader: ByteReader): CoreSort {
  const sort = CORE_SORTS[reader.u8()];
  if (sort === undefined) throw reader.damaged("neither a function, nor a table, a memory, a global or a tag");
  return sort;
}

function readImport(reader: ByteReader, types: readonly CoreSignature[]): CoreImport {
  const place = { module: reader.name(), field: reader.name() };
  const sort = readCoreSort(reader);
  if (sort === "func") {
    const signature = types[reader.u32()];
    return signature === undefined ? { ...place, sort } : { ...place, sort, signature };
  }
  if (sort === "table") readElementType(reader);
  if (sort === "table" || sort === "memory") readLimits(reader, sort);
  else if (sort === "global") {
    readCoreValueType(reader);
    reader.u8();
  } else {
    reader.u8();
    reader.u32();
  }
  return { ...place, sort };
}

/** Reads names and types. Does not validate code: the compiler does. Throws `WasmError`. */
export function readCoreModule(bytes: Uint8Array): CoreModule {
  const types: CoreSignature[] = [];
  const imports: CoreImport[] = [];
  const typeOf: number[] = [];
  const exports = new Map<string, { readonly sort: CoreSort; readonly index: number }>();
  let start: number | undefined;
  for (const { id, body } of coreSections(bytes)) {
    if (id === SECTION.types)
      for (let left = boundedCount(body, MAX_OTHERS, "types"); left > 0; left -= 1) types.push(readCoreFunctionType(body));
    else if (id === SECTION.imports)
      for (let left = boundedCount(body, MAX_OTHERS, "imports"); left > 0; left -= 1) imports.push(readImport(body, types));
    else if (id === SECTION.functions)
      for (let left = boundedCount(body, MAX_FUNCTIONS, "functions"); left > 0; left -= 1) typeOf.push(body.u32());
    else if (id === SECTION.exports)
      for (let left = boundedCount(body, MAX_OTHERS, "exports"); left > 0; left -= 1)
        exports.set(body.name(), { sort: readCoreSort(body), index: body.u32() });
    else if (id === SECTION.start) start = body.u32();
    else body.rest();
  }
  const functions = imports.filter(({ sort }) => sort === "func");
  return {
    imports,
    exports,
    ...(start === undefined ? {} : { start }),
    signature: (func) => (func < functions.length ? functions[func]?.signature : types[typeOf[func - functions.length] ?? -1]),
  };
}
