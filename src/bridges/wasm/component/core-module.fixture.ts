import type { CoreSignature } from "./core-module.ts";

// Core modules written byte by byte, and helpers for their parts.

export type Bytes = readonly number[];

export function leb(value: number): Bytes {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}
export const text = (value: string): Bytes => [...leb(Buffer.byteLength(value)), ...Buffer.from(value)];
export const vec = (items: readonly Bytes[]): Bytes => [...leb(items.length), ...items.flat()];
export const section = (id: number, content: Bytes): Bytes => [id, ...leb(content.length), ...content];

/** The preamble of a core module. */
export const MODULE: Bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

const CORE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b, funcref: 0x70, externref: 0x6f, reference: 0x6e };

export interface CoreFunction {
  readonly name: string;
  readonly type: CoreSignature;
}

/** A core module whose functions trap. `memory`: its limits, by default 1 page without a maximum. */
export function coreModule(options: {
  readonly imports?: readonly (CoreFunction & { readonly module: string })[];
  readonly functions: readonly CoreFunction[];
  readonly memory?: Bytes;
  readonly tables?: readonly Bytes[];
  readonly types?: readonly Bytes[];
}): Bytes {
  const { imports = [], functions, memory = [0, 1], tables = [], types = [] } = options;
  const all = [...imports, ...functions].map(({ type }) => [
    0x60,
    ...vec(type.params.map((value) => [CORE[value]])),
    ...vec(type.results.map((value) => [CORE[value]])),
  ]);
  const exported = functions.map(({ name }, at) => [...text(name), 0, ...leb(imports.length + at)]);
  return [
    ...MODULE,
    ...section(1, vec([...all, ...types])),
    ...section(2, vec(imports.map(({ module, name }, at) => [...text(module), ...text(name), 0, ...leb(at)]))),
    ...section(3, vec(functions.map((_, at) => leb(imports.length + at)))),
    ...section(4, vec(tables)),
    ...section(5, vec(memory.length === 0 ? [] : [memory])),
    ...section(7, vec(memory.length === 0 ? exported : [...exported, [...text("memory"), 2, 0]])),
    ...section(10, vec(functions.map(() => [3, 0, 0, 0x0b]))),
  ];
}
