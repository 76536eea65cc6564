import { plain, type Shape, type Signature } from "../wit.ts";
import type { Reader } from "./reader.ts";
import { alias, type Entity, type Exports, externName, name, needsJco, Scope, type Type } from "./scope.ts";

const PRIMITIVES = new Map<number, Shape>(
  ["bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string"].map((form, at) => [
    0x7f - at,
    plain(form),
  ]),
).set(0x64, plain("error-context"));

/** A primitive, or a type by its index. */
function valueType(reader: Reader, scope: Scope): Shape {
  scope.work.step(reader);
  const code = reader.s33();
  if (code < 0) {
    const primitive = PRIMITIVES.get(code + 0x80);
    if (primitive === undefined) throw reader.bad("it has an unknown primitive type");
    return primitive;
  }
  const { is } = scope.entity(reader, "type", code);
  if (!("value" in is)) throw reader.bad(`type ${code} is none of a value`);
  return is.value;
}

function optional(reader: Reader, scope: Scope): Shape | undefined {
  const there = reader.u8();
  if (there > 1) throw reader.bad("neither is there a type, nor is there none");
  return there === 1 ? valueType(reader, scope) : undefined;
}

function vector<T>(reader: Reader, scope: Scope, item: () => T): T[] {
  const items: T[] = [];
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    items.push(item());
  }
  return items;
}

const labels = (reader: Reader, scope: Scope): Shape["parts"] => vector(reader, scope, () => [reader.name(), undefined]);
const fields = (reader: Reader, scope: Scope): [string, Shape][] => vector(reader, scope, () => [reader.name(), valueType(reader, scope)]);

function cases(reader: Reader, scope: Scope): Shape["parts"] {
  return vector(reader, scope, () => {
    const part = [reader.name(), optional(reader, scope)] as const;
    if (reader.u8() !== 0) throw reader.bad("a case refines another, which no component has done since 2022");
    return part;
  });
}

/** Types that no function of Theater's has: their forms are enough to say so. */
function handle(reader: Reader, scope: Scope, form: string): Shape {
  scope.entity(reader, "type");
  return plain(form);
}

const COMPOUND: Readonly<Record<number, (reader: Reader, scope: Scope) => Shape>> = {
  0x72: (reader, scope) => ({ form: "record", parts: fields(reader, scope) }),
  0x71: (reader, scope) => ({ form: "variant", parts: cases(reader, scope) }),
  0x70: (reader, scope) => ({ form: "list", parts: [["", valueType(reader, scope)]] }),
  0x67: (reader, scope) => ({
    form: "fixed-list",
    parts: [
      ["", valueType(reader, scope)],
      [String(reader.u32()), undefined],
    ],
  }),
  0x6f: (reader, scope) => ({ form: "tuple", parts: vector(reader, scope, () => ["", valueType(reader, scope)]) }),
  0x6e: (reader, scope) => ({ form: "flags", parts: labels(reader, scope) }),
  0x6d: (reader, scope) => ({ form: "enum", parts: labels(reader, scope) }),
  0x6b: (reader, scope) => ({ form: "option", parts: [["", valueType(reader, scope)]] }),
  0x6a: (reader, scope) => ({
    form: "result",
    parts: [
      ["ok", optional(reader, scope)],
      ["err", optional(reader, scope)],
    ],
  }),
  0x69: (reader, scope) => handle(reader, scope, "own<resource>"),
  0x68: (reader, scope) => handle(reader, scope, "borrow<resource>"),
  0x66: (reader, scope) => ({ form: "stream", parts: [["", optional(reader, scope)]] }),
  0x65: (reader, scope) => ({ form: "future", parts: [["", optional(reader, scope)]] }),
};

/** What follows the code of a type definition of values; undefined: the code begins another. */
function definedValue(code: number, reader: Reader, scope: Scope): Shape | undefined {
  return PRIMITIVES.get(code) ?? COMPOUND[code]?.(reader, scope);
}

/** What follows the code of a function's type. */
function functionType(reader: Reader, scope: Scope): Signature {
  const params = fields(reader, scope);
  const none = reader.u8();
  if (none === 0) return { params, result: valueType(reader, scope) };
  if (none !== 1 || reader.u8() !== 0) throw reader.bad("a function has named results, which no component has had since 2025");
  return { params };
}

const FUNCTION = 0x40;
const COMPONENT = 0x41;
const INSTANCE = 0x42;
const ASYNC_FUNCTION = 0x43;
const RESOURCE = 0x3f;

const type = (is: Type["is"]): Type => ({ sort: "type", is });

/** One definition of a type section, or in a type. */
export function typeDefinition(reader: Reader, scope: Scope): Type {
  const code = reader.u8();
  const value = definedValue(code, reader, scope);
  if (value !== undefined) return type({ value });
  if (code === FUNCTION) return type({ func: functionType(reader, scope) });
  if (code === INSTANCE) return type({ instance: declarations(reader, scope, false) });
  if (code === COMPONENT) {
    declarations(reader, scope, true);
    return type({ other: "component" });
  }
  if (code === ASYNC_FUNCTION) throw needsJco("It has asynchronous functions");
  if (code === RESOURCE) throw needsJco("It defines a resource");
  throw reader.bad(`${code} begins no type`);
}

/** What an import or an export of some type is, as far as those who use it can tell. */
export function described(reader: Reader, scope: Scope): Entity {
  const code = reader.u8();
  if (code === 0x03) {
    const bound = reader.u8();
    if (bound === 0) return scope.entity(reader, "type");
    if (bound === 1) return type({ value: plain("resource") });
    throw reader.bad(`${bound} bounds no type`);
  }
  if (code === 0x00) throw needsJco("It imports a core module");
  if (code === 0x02) throw needsJco("It imports a value");
  if (code !== 0x01 && code !== 0x04 && code !== 0x05) throw reader.bad(`${code} describes nothing`);
  const { is } = scope.entity(reader, "type");
  if (code === 0x04) throw needsJco("It imports a component");
  if (code === 0x01 && "func" in is) return { sort: "func", signature: is.func };
  if (code === 0x05 && "instance" in is) return { sort: "instance", exports: is.instance };
  throw reader.bad("an import or export has a type of another sort");
}

/** Of an instance's type, or of a component's: that one has imports besides. */
function declarations(reader: Reader, outer: Scope, imports: boolean): Exports {
  const scope = new Scope(reader, outer.work, outer);
  const exports = new Map<string, Entity>();
  for (let left = reader.count(); left > 0; left -= 1) {
    const code = reader.u8();
    if (code === 0x01) scope.add(reader, typeDefinition(reader, scope));
    else if (code === 0x02) alias(reader, scope);
    else if (code === 0x04 || (code === 0x03 && imports)) {
      const key = externName(reader);
      const entity = described(reader, scope);
      scope.add(reader, entity);
      if (code === 0x04) name(reader, exports, key, entity);
    } else if (code === 0x00) throw needsJco("It has types of core modules");
    else throw reader.bad(`${code} begins no declaration`);
  }
  return exports;
}
