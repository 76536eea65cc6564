import type { CoreImport } from "../binary/core-module.ts";
import type { Component } from "../component.ts";
import type { CanonOptions, CoreInstance, CoreItem, InlineCoreInstance, ModuleInstance } from "../model/entities.ts";
import { needsJco } from "../model/scope.ts";
import { WasmError, quoted } from "../wasm-error.ts";
import { loweredSignature, sameCoreSignature } from "./flat.ts";
import { importName, importTypes } from "../world/names.ts";

type Lowered = Extract<CoreItem, { readonly options: CanonOptions }>;
type Imports = Component["imports"];

/** Theater's world has some 50 functions. */
const MAX_IMPORTS = 1_000;
/** The table's, the functions', and the main module's. */
const MAX_FIXUP_ARGS = 3;

/**
 * A function that takes its results by memory cannot be lowered before that memory exists: the module is given those of
 * a shim, which call through a table, and another module (the fixup) puts the lowered functions there under the same
 * names. Shim → what its fixup is given.
 */
type Fixups = ReadonlyMap<ModuleInstance, readonly InlineCoreInstance[]>;

function tableOwner(instance: CoreInstance): ModuleInstance | undefined {
  if ("module" in instance) return instance;
  for (const item of instance.items.values()) if (item.sort === "table" && "from" in item) return item.from;
  return undefined;
}

/** An argument may be shared by any number of instances: whose table is in it is found once. */
export function fixupsOf(main: ModuleInstance, instances: readonly CoreInstance[]): Fixups {
  const owners = new Map(instances.map((instance) => [instance, tableOwner(instance)]));
  const fixups = new Map<ModuleInstance, readonly InlineCoreInstance[]>();
  for (const instance of instances) {
    if (!("module" in instance) || instance.args.size > MAX_FIXUP_ARGS) continue;
    const args = [...instance.args.values()];
    const shim = args.map((arg) => owners.get(arg)).find((owner) => owner !== undefined && owner !== main);
    if (shim !== undefined) fixups.set(shim, fixups.has(shim) ? [] : args.filter((arg) => "items" in arg));
  }
  return fixups;
}

function lowered(main: ModuleInstance, { module, field }: CoreImport, fixups: Fixups): Lowered | undefined {
  const arg = main.args.get(module);
  const item = arg !== undefined && "items" in arg ? arg.items.get(field) : undefined;
  if (item === undefined) return undefined;
  if ("options" in item) return item;
  if (!("from" in item)) return undefined;
  const found = fixups.get(item.from)?.map(({ items }) => items.get(item.name)).find((each) => each?.sort === "func");
  // The shim's own code is not read: that both names agree is what shows that it calls what it seems to.
  return found !== undefined && "options" in found && found.lowered.imported?.name === field ? found : undefined;
}

/**
 * Where the main module imports what of Theater's. `uses` is told of the memory and the allocator of each, `other` of what
 * is none of Theater's.
 */
export function importsOf(
  main: ModuleInstance,
  imports: readonly CoreImport[],
  fixups: Fixups,
  uses: (options: CanonOptions) => void,
  other: (each: CoreImport) => void,
): Imports {
  if (imports.length > MAX_IMPORTS)
    throw new WasmError("BAD_COMPONENT", `The core module has ${imports.length} imports, and ${MAX_IMPORTS} are read: build it with less.`);
  const theirs: Imports[number][] = [];
  for (const each of imports) {
    const { module, field } = each;
    const found = lowered(main, each, fixups);
    const { interface: of, name: own } = found?.lowered.imported ?? {};
    const name = of === undefined || own === undefined ? undefined : importName(of, own);
    const type = name === undefined ? undefined : importTypes.get(name);
    if (found === undefined || name === undefined || type === undefined) {
      other(each);
      continue;
    }
    const signature = loweredSignature(type);
    if (!sameCoreSignature(signature, each.signature))
      throw new WasmError(
        "BAD_COMPONENT",
        `The core module imports ${name} otherwise than as (${signature.params.join(", ")}) -> (${signature.results.join(", ")}): build it again.`,
      );
    uses(found.options);
    theirs.push({ name, module, field });
  }
  return theirs;
}

/** Throws `WasmError` NEEDS_JCO. */
export function refuseOther({ module, field }: CoreImport): never {
  throw needsJco(`The core module imports ${quoted(field)} of ${quoted(module)}, which is no function of Theater's as it is linked`);
}
