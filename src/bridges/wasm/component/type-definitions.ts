// Owns: reading the type section of a component: types of values, functions and instances.
import { simpleShape, type TypeShape, type Signature } from "../wit.ts";
import type { ByteReader } from "./reader.ts";
import { readAlias, type Entity, type Exports, readExternName, addUnique, needsJco, Scope, type Type } from "./scope.ts";

const PRIMITIVES = new Map<number, TypeShape>(
  ["bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string"].map((form, at) => [
    0x7f - at,
    simpleShape(form),
  ]),
).set(0x64, simpleShape("error-context"));

/** Reads a primitive type, or a type by its index. */
function readValueType(reader: ByteReader, scope: Scope): TypeShape {
  scope.budget.step(reader);
  const code = reader.s33();
  if (code < 0) {
    const primitive = PRIMITIVES.get(code + 0x80);
    if (primitive === undefined) throw reader.damaged("it has an unknown primitive type");
    return primitive;
  }
  const { is } = scope.entity(reader, "type", code);
  if (!("value" in is)) throw reader.damaged(`type ${code} is none of a value`);
  return is.value;
}

function readOptionalType(reader: ByteReader, scope: Scope): TypeShape | undefined {
  const there = reader.u8();
  if (there > 1) throw reader.damaged("neither is there a type, nor is there none");
  return there === 1 ? readValueType(reader, scope) : undefined;
}

function readVector<T>(reader: ByteReader, scope: Scope, item: () => T): T[] {
  const items: T[] = [];
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.budget.step(reader);
    items.push(item());
  }
  return items;
}

const readLabels = (reader: ByteReader, scope: Scope): TypeShape["parts"] => readVector(reader, scope, () => [reader.name(), undefined]);
const readFields = (reader: ByteReader, scope: Scope): [string, TypeShape][] =>
  readVector(reader, scope, () => [reader.name(), readValueType(reader, scope)]);

function readCases(reader: ByteReader, scope: Scope): TypeShape["parts"] {
  return readVector(reader, scope, () => {
    const part = [reader.name(), readOptionalType(reader, scope)] as const;
    if (reader.u8() !== 0) throw reader.damaged("a case refines another, which no component has done since 2022");
    return part;
  });
}

/** Handles appear in no function of Theater, so their form is enough to print them. */
function readHandle(reader: ByteReader, scope: Scope, form: string): TypeShape {
  scope.entity(reader, "type");
  return simpleShape(form);
}

const COMPOUND: Readonly<Record<number, (reader: ByteReader, scope: Scope) => TypeShape>> = {
  0x72: (reader, scope) => ({ form: "record", parts: readFields(reader, scope) }),
  0x71: (reader, scope) => ({ form: "variant", parts: readCases(reader, scope) }),
  0x70: (reader, scope) => ({ form: "list", parts: [["", readValueType(reader, scope)]] }),
  0x67: (reader, scope) => ({
    form: "fixed-list",
    parts: [
      ["", readValueType(reader, scope)],
      [String(reader.u32()), undefined],
    ],
  }),
  0x6f: (reader, scope) => ({ form: "tuple", parts: readVector(reader, scope, () => ["", readValueType(reader, scope)]) }),
  0x6e: (reader, scope) => ({ form: "flags", parts: readLabels(reader, scope) }),
  0x6d: (reader, scope) => ({ form: "enum", parts: readLabels(reader, scope) }),
  0x6b: (reader, scope) => ({ form: "option", parts: [["", readValueType(reader, scope)]] }),
  0x6a: (reader, scope) => ({
    form: "result",
    parts: [
      ["ok", readOptionalType(reader, scope)],
      ["err", readOptionalType(reader, scope)],
    ],
  }),
  0x69: (reader, scope) => readHandle(reader, scope, "own<resource>"),
  0x68: (reader, scope) => readHandle(reader, scope, "borrow<resource>"),
  0x66: (reader, scope) => ({ form: "stream", parts: [["", readOptionalType(reader, scope)]] }),
  0x65: (reader, scope) => ({ form: "future", parts: [["", readOptionalType(reader, scope)]] }),
};

/** Reads a value type after its code; undefined if the code is not that of a value type. */
function readValueDefinition(code: number, reader: ByteReader, scope: Scope): TypeShape | undefined {
  return PRIMITIVES.get(code) ?? COMPOUND[code]?.(reader, scope);
}

/** Reads a function type after its code. */
function readFunctionType(reader: ByteReader, scope: Scope): Signature {
  const params = readFields(reader, scope);
  const none = reader.u8();
  if (none === 0) return { params, result: readValueType(reader, scope) };
  if (none !== 1 || reader.u8() !== 0) throw reader.damaged("a function has named results, which no component has had since 2025");
  return { params };
}

const FUNCTION = 0x40;
const COMPONENT = 0x41;
const INSTANCE = 0x42;
const ASYNC_FUNCTION = 0x43;
const RESOURCE = 0x3f;

const typeEntity = (is: Type["is"]): Type => ({ sort: "type", is });

/** Reads one type definition. */
export function readTypeDefinition(reader: ByteReader, scope: Scope): Type {
  const code = reader.u8();
  const value = readValueDefinition(code, reader, scope);
  if (value !== undefined) return typeEntity({ value });
  if (code === FUNCTION) return typeEntity({ func: readFunctionType(reader, scope) });
  if (code === INSTANCE) return typeEntity({ instance: readDeclarations(reader, scope, false) });
  if (code === COMPONENT) {
    readDeclarations(reader, scope, true);
    return typeEntity({ other: "component" });
  }
  if (code === ASYNC_FUNCTION) throw needsJco("It has asynchronous functions");
  if (code === RESOURCE) throw needsJco("It defines a resource");
  throw reader.damaged(`${code} begins no type`);
}

/** Reads the declared type of an import or export, and returns the entity that its users see. */
export function readExternDescription(reader: ByteReader, scope: Scope): Entity {
  const code = reader.u8();
  if (code === 0x03) {
    const bound = reader.u8();
    if (bound === 0) return scope.entity(reader, "type");
    if (bound === 1) return typeEntity({ value: simpleShape("resource") });
    throw reader.damaged(`${bound} bounds no type`);
  }
  if (code === 0x00) throw needsJco("It imports a core module");
  if (code === 0x02) throw needsJco("It imports a value");
  if (code !== 0x01 && code !== 0x04 && code !== 0x05) throw reader.damaged(`${code} describes nothing`);
  const { is } = scope.entity(reader, "type");
  if (code === 0x04) throw needsJco("It imports a component");
  if (code === 0x01 && "func" in is) return { sort: "func", signature: is.func };
  if (code === 0x05 && "instance" in is) return { sort: "instance", exports: is.instance };
  throw reader.damaged("an import or export has a type of another sort");
}

/** Reads the declarations of an instance type, or of a component type, which may also have imports. */
function readDeclarations(reader: ByteReader, outer: Scope, imports: boolean): Exports {
  const scope = new Scope(reader, outer.budget, outer);
  const exports = new Map<string, Entity>();
  for (let left = reader.count(); left > 0; left -= 1) {
    const code = reader.u8();
    if (code === 0x01) scope.add(reader, readTypeDefinition(reader, scope));
    else if (code === 0x02) readAlias(reader, scope);
    else if (code === 0x04 || (code === 0x03 && imports)) {
      const key = readExternName(reader);
      const entity = readExternDescription(reader, scope);
      scope.add(reader, entity);
      if (code === 0x04) addUnique(reader, exports, key, entity);
    } else if (code === 0x00) throw needsJco("It has types of core modules");
    else throw reader.damaged(`${code} begins no declaration`);
  }
  return exports;
}
