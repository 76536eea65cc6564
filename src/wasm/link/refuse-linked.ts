import { readCoreModule } from "../binary/core-module.ts";
import type { CoreInstance, CoreItem, ModuleInstance } from "../model/entities.ts";
import { needsJco } from "../model/scope.ts";
import type { MainModule } from "./main-module.ts";

const INITIALIZE = "_initialize";

const nameIn = (item: CoreItem | undefined, instance: ModuleInstance): string | undefined =>
  item !== undefined && "from" in item && item.from === instance ? item.name : undefined;

/** Does nothing but call the main module's `_initialize`: so does whoever instantiates that alone. */
function initializes(main: MainModule, instance: ModuleInstance): boolean {
  const { imports, start } = readCoreModule(instance.module);
  const [only] = imports;
  if (imports.length !== 1 || only?.sort !== "func" || start !== 0) return false;
  const arg = instance.args.get(only.module);
  if (arg === undefined) return false;
  const name = "items" in arg ? nameIn(arg.items.get(only.field), main.instance) : only.field;
  if (name !== INITIALIZE) return false;
  main.func({ sort: "func", from: main.instance, name }, { params: [], results: [] });
  return true;
}

/**
 * Throws `WasmError` NEEDS_JCO where other modules see something of the main one: they would do to it what nobody does
 * where it is instantiated alone.
 */
export function refuseLinked(main: MainModule, instances: readonly CoreInstance[]): void {
  const giving = new Set<CoreInstance>([main.instance]);
  for (const instance of instances)
    if ("items" in instance && [...instance.items.values()].some((item) => nameIn(item, main.instance) !== undefined)) giving.add(instance);
  let initialized = false;
  for (const instance of instances) {
    if (!("module" in instance) || ![...instance.args.values()].some((arg) => giving.has(arg))) continue;
    if (initialized || instance === main.instance || !initializes(main, instance))
      throw needsJco("The component links several core modules with each other");
    initialized = true;
  }
}
