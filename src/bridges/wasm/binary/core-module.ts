import { type CoreSignature, coreSignature, coreValue, limits, tableElement } from "./core-types.ts";
import { Reader } from "./reader.ts";
import { MODULE, preamble, sections } from "./sections.ts";

export type CoreSort = "func" | "table" | "memory" | "global" | "tag";
export const CORE_SORTS: readonly CoreSort[] = ["func", "table", "memory", "global", "tag"];

export interface CoreImport {
  readonly module: string;
  readonly field: string;
  readonly sort: CoreSort;
  /** Of functions, unless its index is beyond the module's types. */
  readonly signature?: CoreSignature;
}

/** What of a core module can be known without compiling it. */
export interface CoreModule {
  readonly imports: readonly CoreImport[];
  readonly exports: ReadonlyMap<string, { readonly sort: CoreSort; readonly index: number }>;
  /** The function that runs when it is instantiated. */
  readonly start?: number;
  /** By the function's index, those imported first. */
  signature(func: number): CoreSignature | undefined;
}

const TYPES = 1;
const IMPORTS = 2;
const FUNCTIONS = 3;
const EXPORTS = 7;
const START = 8;

/** As many as V8 takes. */
const MAX_FUNCTIONS = 1_000_000;
const MAX_OTHERS = 100_000;

function bounded(reader: Reader, most: number, what: string): number {
  const count = reader.count();
  if (count > most) throw reader.bad(`${count} ${what} are more than ${most}`);
  return count;
}

function sortOf(reader: Reader): CoreSort {
  const sort = CORE_SORTS[reader.u8()];
  if (sort === undefined) throw reader.bad("neither a function, nor a table, a memory, a global or a tag");
  return sort;
}

function imported(reader: Reader, types: readonly CoreSignature[]): CoreImport {
  const place = { module: reader.name(), field: reader.name() };
  const sort = sortOf(reader);
  if (sort === "func") {
    const signature = types[reader.u32()];
    return signature === undefined ? { ...place, sort } : { ...place, sort, signature };
  }
  if (sort === "table") tableElement(reader);
  if (sort === "table" || sort === "memory") limits(reader, sort);
  else if (sort === "global") {
    coreValue(reader);
    reader.u8();
  } else {
    reader.u8();
    reader.u32();
  }
  return { ...place, sort };
}

/** Reads names and types; that its code is valid is for who compiles it. Throws `WasmError`. */
export function readCoreModule(bytes: Uint8Array): CoreModule {
  const reader = new Reader(bytes);
  if (preamble(reader) !== MODULE) throw reader.bad("a core module does not begin as one");
  const types: CoreSignature[] = [];
  const imports: CoreImport[] = [];
  const typeOf: number[] = [];
  const exports = new Map<string, { readonly sort: CoreSort; readonly index: number }>();
  let start: number | undefined;
  for (const { id, body } of sections(reader)) {
    if (id === TYPES) for (let left = bounded(body, MAX_OTHERS, "types"); left > 0; left -= 1) types.push(coreSignature(body));
    else if (id === IMPORTS) for (let left = bounded(body, MAX_OTHERS, "imports"); left > 0; left -= 1) imports.push(imported(body, types));
    else if (id === FUNCTIONS) for (let left = bounded(body, MAX_FUNCTIONS, "functions"); left > 0; left -= 1) typeOf.push(body.u32());
    else if (id === EXPORTS)
      for (let left = bounded(body, MAX_OTHERS, "exports"); left > 0; left -= 1)
        exports.set(body.name(), { sort: sortOf(body), index: body.u32() });
    else if (id === START) start = body.u32();
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
