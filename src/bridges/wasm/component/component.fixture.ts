import type { WitFunction, WitType } from "../wit.ts";
import { type Bytes, coreModule, leb, section, text, vec } from "./core-module.fixture.ts";
import type { CoreSignature } from "./core-module.ts";
import { liftedSignature, loweredSignature } from "./core-linkage.ts";
import { EXPORTS } from "./world.ts";

// Components written byte by byte, for what toolchains do not generate.

/** A component of these sections. */
export const layered = (...sections: readonly Bytes[]): Bytes => [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0, ...sections.flat()];

const extern = (name: string): Bytes => [0, ...text(name)];

const PRIMITIVES = ["bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string"];

/** Type definitions, each before its use, for a type section or an instance type. */
class Types {
  readonly definitions: Bytes[] = [];

  add(definition: Bytes): Bytes {
    this.definitions.push(definition);
    // Two bytes, which are the same number in signed and unsigned LEB128.
    const at = this.definitions.length - 1;
    return [(at & 0x7f) | 0x80, at >>> 7];
  }

  of(type: WitType): Bytes {
    if (typeof type === "string") return [0x7f - PRIMITIVES.indexOf(type)];
    const optional = (one: WitType | null | undefined): Bytes => (one === undefined || one === null ? [0] : [1, ...this.of(one)]);
    if ("list" in type) return this.add([0x70, ...this.of(type.list)]);
    if ("option" in type) return this.add([0x6b, ...this.of(type.option)]);
    if ("tuple" in type) return this.add([0x6f, ...vec(type.tuple.map((part) => this.of(part)))]);
    if ("enum" in type) return this.add([0x6d, ...vec(type.enum.map(text))]);
    if ("record" in type)
      return this.add([0x72, ...vec(Object.entries(type.record).map(([name, part]) => [...text(name), ...this.of(part)]))]);
    if ("variant" in type)
      return this.add([0x71, ...vec(Object.entries(type.variant).map(([name, part]) => [...text(name), ...optional(part), 0]))]);
    return this.add([0x6a, ...optional(type.result.ok), ...optional(type.result.err)]);
  }

  func({ params, result }: WitFunction): Bytes {
    const list = vec(Object.entries(params).map(([name, type]) => [...text(name), ...this.of(type)]));
    return this.add([0x40, ...list, ...(result === undefined ? [1, 0] : [0, ...this.of(result)])]);
  }
}

/** Interface → function → its type. */
export type Interfaces = Readonly<Record<string, Readonly<Record<string, WitFunction>>>>;

/** The type of an instance that has these functions. */
function instanceType(functions: Readonly<Record<string, WitFunction>>): Bytes {
  const declarations: Bytes[] = [];
  for (const [name, type] of Object.entries(functions)) {
    const types = new Types();
    // Indices continue after those of the previous function.
    types.definitions.push(...declarations.filter(([code]) => code === 1));
    const before = types.definitions.length;
    const index = types.func(type);
    declarations.push(...types.definitions.slice(before).map((each) => [1, ...each]), [4, ...extern(name), 1, ...index]);
  }
  return [0x42, ...vec(declarations)];
}

export const ACTOR: Interfaces = { "theater:simple/actor": EXPORTS.actor };

/** A component that lifts and lowers without a shim, which suffices for reading. `more`: sections before its exports. */
export function component(options: {
  readonly imports?: Interfaces;
  readonly exports?: Interfaces;
  /** Signatures of core functions, by `interface#function`, instead of those of the canonical ABI. */
  readonly core?: Readonly<Record<string, CoreSignature>>;
  /** More core modules and their instances. Core instance 0 is the main module's, unless there are imports. */
  readonly more?: readonly Bytes[];
}): Uint8Array {
  const { imports = {}, exports = ACTOR, core = {}, more = [] } = options;
  const flat = (all: Interfaces) =>
    Object.entries(all).flatMap(([of, functions]) => Object.entries(functions).map(([name, type]) => ({ of, name, type })));
  const taken = flat(imports);
  const given = flat(exports);
  const realloc = { name: "cabi_realloc", type: { params: ["i32", "i32", "i32", "i32"], results: ["i32"] } } as const;
  const main = coreModule({
    imports: taken.map(({ of, name, type }) => ({ module: of, name, type: loweredSignature(type) })),
    functions: [
      realloc,
      ...given.map(({ of, name, type }) => ({ name: `${of}#${name}`, type: core[`${of}#${name}`] ?? liftedSignature(type) })),
      { name: "_initialize", type: { params: [], results: [] } },
    ],
  });
  const interfaces = Object.keys(imports);
  const types = new Types();
  types.definitions.push(...Object.values(imports).map(instanceType));
  const signatures = given.map(({ type }) => types.func(type));
  const lifts = given.map((_, at) => [0, 0, ...leb(taken.length + 1 + at), 2, 3, 0, 4, ...leb(taken.length), ...(signatures[at] ?? [])]);
  const instances = Object.entries(exports).map(([of, functions]) => [
    1,
    ...vec(
      Object.keys(functions).map((name) => [
        ...extern(name),
        1,
        ...leb(taken.length + given.findIndex((each) => each.of === of && each.name === name)),
      ]),
    ),
  ]);
  const alias = (sort: Bytes, name: string): Bytes => [0, ...sort, 1, ...leb(interfaces.length), ...text(name)];
  return Uint8Array.from(
    layered(
      section(7, vec(types.definitions)),
      section(10, vec(interfaces.map((of, at) => [...extern(of), 5, ...leb(at)]))),
      section(6, vec(taken.map(({ of, name }) => [1, 0, ...leb(interfaces.indexOf(of)), ...text(name)]))),
      section(8, vec(taken.map((_, at) => [1, 0, ...leb(at), 0]))),
      section(
        2,
        vec(
          interfaces.map((of) => [1, ...vec(taken.flatMap((each, at) => (each.of === of ? [[...text(each.name), 0, ...leb(at)]] : [])))]),
        ),
      ),
      section(1, main),
      section(2, vec([[0, 0, ...vec(interfaces.map((of, at) => [...text(of), 0x12, ...leb(at)]))]])),
      section(6, vec([alias([0], "cabi_realloc"), ...given.map(({ of, name }) => alias([0], `${of}#${name}`)), alias([2], "memory")])),
      section(8, vec(lifts)),
      section(5, vec(instances)),
      ...more,
      section(11, vec(Object.keys(exports).map((of, at) => [...extern(of), 5, ...leb(interfaces.length + at), 0]))),
    ),
  );
}
