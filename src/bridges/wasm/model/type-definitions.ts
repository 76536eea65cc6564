import type { Reader } from "../binary/reader.ts";
import { plain } from "../world/shape.ts";
import { alias } from "./alias.ts";
import type { Entity, Exports, Type } from "./entities.ts";
import { Scope, externName, name, needsJco } from "./scope.ts";
import { definedValue, functionType } from "./value-types.ts";

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
