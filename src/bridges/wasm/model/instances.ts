import type { Reader } from "../binary/reader.ts";
import type { CoreInstance, CoreItem, Entity, Exports, NestedComponent } from "./entities.ts";
import { type Scope, coreSort, externName, name, sortOf } from "./scope.ts";

const OF_DEFINITION = 0x00;
const INLINE = 0x01;
const CORE_INSTANCE = 0x12;

function coreArgs(reader: Reader, scope: Scope): Map<string, CoreInstance> {
  const args = new Map<string, CoreInstance>();
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const key = reader.name();
    if (reader.u8() !== CORE_INSTANCE) throw reader.bad("a core module is given what is no instance");
    name(reader, args, key, scope.coreInstance(reader));
  }
  return args;
}

/** Adds what one definition of a core instance makes. */
export function coreInstance(reader: Reader, scope: Scope): void {
  scope.work.step(reader);
  const how = reader.u8();
  let made: CoreInstance;
  if (how === OF_DEFINITION) made = { module: scope.entity(reader, "module").bytes, args: coreArgs(reader, scope) };
  else if (how === INLINE) {
    const items = new Map<string, CoreItem>();
    for (let left = reader.count(); left > 0; left -= 1) {
      scope.work.step(reader);
      const key = reader.name();
      name(reader, items, key, scope.core(reader, coreSort(reader)));
    }
    made = { items };
  } else throw reader.bad(`${how} makes no core instance`);
  scope.coreInstances.push(made);
  scope.work.coreInstances.push(made);
}

/** What a sort and an index name: components give and take no core items. */
export function named(reader: Reader, scope: Scope): Entity {
  const sort = sortOf(reader);
  if (!("entity" in sort)) throw reader.bad("a component gives or takes a core item");
  return scope.entity(reader, sort.entity);
}

function entities(reader: Reader, scope: Scope, key: (reader: Reader) => string): Map<string, Entity> {
  const found = new Map<string, Entity>();
  for (let left = reader.count(); left > 0; left -= 1) {
    scope.work.step(reader);
    const each = key(reader);
    name(reader, found, each, named(reader, scope));
  }
  return found;
}

/** Adds what one definition of an instance makes; `run` gives what a component exports that is given these. */
export function instance(reader: Reader, scope: Scope, run: (component: NestedComponent, args: Exports, from: Scope) => Exports): void {
  const how = reader.u8();
  if (how === OF_DEFINITION) {
    const component = scope.entity(reader, "component");
    const args = entities(reader, scope, (from) => from.name());
    scope.add(reader, { sort: "instance", exports: run(component, args, scope) });
  } else if (how === INLINE) scope.add(reader, { sort: "instance", exports: entities(reader, scope, externName) });
  else throw reader.bad(`${how} makes no instance`);
}
