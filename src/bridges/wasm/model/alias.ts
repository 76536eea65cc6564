import type { Reader } from "../binary/reader.ts";
import { quoted } from "../wasm-error.ts";
import type { CoreInstance, CoreItem } from "./entities.ts";
import { type Scope, sortOf } from "./scope.ts";

/** What an instance of core items has under a name. Of a module's instance it is known when that module is read. */
function coreExport(reader: Reader, instance: CoreInstance, sort: CoreItem["sort"], name: string): CoreItem {
  if ("module" in instance) return { sort, from: instance, name };
  const item = instance.items.get(name);
  if (item?.sort !== sort) throw reader.bad(`a core instance exports no ${sort} ${quoted(name)}`);
  return item;
}

/** Adds what an alias names to the scope. */
export function alias(reader: Reader, scope: Scope): void {
  const sort = sortOf(reader);
  const target = reader.u8();
  if (target === 0x00 && "entity" in sort) {
    const { exports } = scope.entity(reader, "instance");
    const name = reader.name();
    const found = exports.get(name);
    if (found?.sort !== sort.entity) throw reader.bad(`an instance exports no ${sort.entity} ${quoted(name)}`);
    scope.add(reader, found);
  } else if (target === 0x01 && "core" in sort) {
    const instance = scope.coreInstance(reader);
    scope.addCore(reader, coreExport(reader, instance, sort.core, reader.name()));
  } else if (target === 0x02 && "entity" in sort && sort.entity !== "func" && sort.entity !== "instance") {
    const outer = scope.outer(reader, reader.u32());
    scope.add(reader, outer.entity(reader, sort.entity));
  } else throw reader.bad(`${target} is no target of an alias of that sort`);
}
