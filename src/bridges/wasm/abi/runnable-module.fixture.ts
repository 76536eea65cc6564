// An assembler for core modules of a few functions that run, so that each test contains its guest.
import { leb, MODULE, section, text, vec } from "../component/core-module.fixture.ts";

export type ValueType = "i32" | "i64" | "f64";

export interface TestFunction {
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
  /** Without the final `end`. */
  readonly body: readonly number[];
  readonly locals?: number;
}

export interface TestImport {
  readonly module: string;
  readonly field: string;
  readonly params: readonly ValueType[];
  readonly results: readonly ValueType[];
}

export interface TestModule {
  /** Their indices precede those of `functions`. */
  readonly imports?: readonly TestImport[];
  readonly functions: readonly TestFunction[];
  /** Data segments by offset. The memory has `pages` pages, by default one. */
  readonly data?: Readonly<Record<number, Uint8Array>>;
  readonly pages?: number;
  readonly start?: number;
}

const TYPES = { i32: 0x7f, i64: 0x7e, f64: 0x7c } as const;

function s32(value: number): number[] {
  const low = value & 0x7f;
  const rest = value >> 7;
  return (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40) ? [low] : [low | 0x80, ...s32(rest)];
}

/** Instructions. */
export const op = {
  unreachable: [0x00],
  drop: [0x1a],
  add: [0x6a],
  divide: [0x6d],
  shiftLeft: [0x74],
  shiftRight: [0x76],
  i32: (value: number) => [0x41, ...s32(value)],
  get: (local: number) => [0x20, ...leb(local)],
  call: (index: number) => [0x10, ...leb(index)],
  load: (offset: number) => [0x28, 2, ...leb(offset)],
  store: (offset: number) => [0x36, 2, ...leb(offset)],
  load64: (offset: number) => [0x29, 3, ...leb(offset)],
  grow: [0x40, 0],
  /** Catches all exceptions of its body, and continues after it. */
  caught: (body: readonly number[]) => [0x02, 0x40, 0x1f, 0x40, 1, 2, 0, ...body, 0x0b, 0x0b],
  forever: (body: readonly number[]) => [0x03, 0x40, ...body, 0x0c, 0, 0x0b],
} as const;

const types = (list: readonly ValueType[]): readonly number[] => vec(list.map((type) => [TYPES[type]]));

/** Exports its functions, and `memory`. */
export function coreModule({ imports = [], functions, data = {}, pages = 1, start }: TestModule): Uint8Array<ArrayBuffer> {
  const signatures = [...imports, ...functions].map(({ params, results }) => [0x60, ...types(params), ...types(results)]);
  const imported = imports.map(({ module, field }, index) => [...text(module), ...text(field), 0, ...leb(index)]);
  const exported = functions.map((one, index) => [...text(one.name), 0, ...leb(imports.length + index)]);
  const bodies = functions.map(({ body, locals = 0 }) => {
    const code = [...(locals > 0 ? [1, ...leb(locals), TYPES.i32] : [0]), ...body, 0x0b];
    return [...leb(code.length), ...code];
  });
  const segments = Object.entries(data).map(([at, bytes]) => [0, ...op.i32(Number(at)), 0x0b, ...leb(bytes.length), ...bytes]);
  return Uint8Array.from([
    ...MODULE,
    ...section(1, vec(signatures)),
    ...section(2, vec(imported)),
    ...section(3, vec(functions.map((_, index) => leb(imports.length + index)))),
    ...section(5, [1, 0, ...leb(pages)]),
    ...section(7, vec([...exported, [...text("memory"), 2, 0]])),
    ...(start === undefined ? [] : section(8, leb(start))),
    ...section(10, vec(bodies)),
    ...section(11, vec(segments)),
  ]);
}

/** Each allocation grows the memory by pages of its own, so earlier views are detached. */
export const REALLOC: TestFunction = {
  name: "cabi_realloc",
  params: ["i32", "i32", "i32", "i32"],
  results: ["i32"],
  body: [...op.get(3), ...op.i32(65_535), ...op.add, ...op.i32(16), ...op.shiftRight, ...op.grow, ...op.i32(16), ...op.shiftLeft],
};
