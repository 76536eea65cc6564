import { readCoreModule } from "../binary/core-module.ts";
import type { CoreInstance, CoreItem, ModuleInstance } from "../model/entities.ts";
import { needsJco } from "../model/scope.ts";
import type { MainModule } from "./main-module.ts";

const INITIALIZE = "_initialize";

const nameIn = (item: CoreItem | undefined, instance: ModuleInstance): string | undefined =>
  item !== undefined && "from" in item && item.from === instance ? item.name : undefined;

/** Of the main module it knows `_initialize` only, and calls it first: so does whoever instantiates that alone. */
function initializes(main: MainModule, { module, args }: ModuleInstance): boolean {
  const { imports, start } = readCoreModule(module);
  const theirs = imports.flatMap(({ module: of, field }, at) => {
    const arg = args.get(of);
    const name =
      arg === main.instance ? field : arg !== undefined && "items" in arg ? nameIn(arg.items.get(field), main.instance) : undefined;
    return name === undefined ? [] : [{ name, at }];
  });
  const [only] = theirs;
  if (only?.name !== INITIALIZE || theirs.length !== 1) return false;
  main.func({ sort: "func", from: main.instance, name: INITIALIZE }, { params: [], results: [] });
  return start === imports.slice(0, only.at).filter(({ sort }) => sort === "func").length;
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
