// Owns: how a component's core modules are linked: the main module, its imports of Theater, and what refuses more than one module.
import { MAX_FLAT_PARAMS, MAX_FLAT_RESULTS } from "../abi/codec.ts";
import { codecOf } from "../abi/compound-codecs.ts";
import type { WitFunction } from "../wit.ts";
import { quoted, WasmError } from "../wasm-error.ts";
import { type CoreImport, type CoreModule, type CoreSignature, readCoreModule } from "./core-module.ts";
import { type CanonOptions, type CoreInstance, type CoreItem, type InlineCoreInstance, type ModuleInstance, needsJco } from "./scope.ts";
import type { Component } from "./component.ts";
import { importName, importTypes } from "./world.ts";

function flatten({ params, result }: WitFunction): CoreSignature {
  const values = Object.values(params).flatMap((type) => codecOf(type).flat);
  return { params: values.length > MAX_FLAT_PARAMS ? ["i32"] : values, results: result === undefined ? [] : codecOf(result).flat };
}

/** The signature of the core function that implements an export. */
export function liftedSignature(type: WitFunction): CoreSignature {
  const { params, results } = flatten(type);
  return { params, results: results.length > MAX_FLAT_RESULTS ? ["i32"] : results };
}

/** The signature of the core function that represents an import. Several results are written where its last parameter points. */
export function loweredSignature(type: WitFunction): CoreSignature {
  const { params, results } = flatten(type);
  return results.length > MAX_FLAT_RESULTS ? { params: [...params, "i32"], results: [] } : { params, results };
}

const sameCoreSignature = (one: CoreSignature, other: CoreSignature | undefined): boolean =>
  other !== undefined && one.params.join() === other.params.join() && one.results.join() === other.results.join();

/** The core module that contains the guest's code. */
export class MainModule {
  readonly instance: ModuleInstance;
  readonly core: CoreModule;

  constructor(instance: ModuleInstance) {
    this.instance = instance;
    this.core = readCoreModule(instance.module);
  }

  /** The export name of a function. Throws `WasmError` if it belongs to another module or has another signature. */
  func(item: CoreItem, signature: CoreSignature): string {
    const name = this.#name(item);
    const found = this.core.exports.get(name);
    if (found?.sort !== "func" || !sameCoreSignature(signature, this.core.signature(found.index)))
      throw new WasmError(
        "BAD_COMPONENT",
        `The core module's ${quoted(name)} is not (${signature.params.join(", ")}) -> (${signature.results.join(", ")}), as the component says: build it again.`,
      );
    return name;
  }

  memory(item: CoreItem): string {
    const name = this.#name(item);
    const found = this.core.exports.get(name);
    if (found?.sort === "memory" && found.index === 0) return name;
    throw new WasmError("BAD_COMPONENT", `The core module exports no memory ${quoted(name)}: build it again.`);
  }

  #name(item: CoreItem): string {
    if ("from" in item && item.from === this.instance) return item.name;
    throw needsJco("The component has its functions in several core modules");
  }
}

export function mainModule(item: CoreItem): MainModule {
  if ("from" in item) return new MainModule(item.from);
  throw needsJco("The component exports what it imports");
}

type Lowered = Extract<CoreItem, { readonly options: CanonOptions }>;
type Imports = Component["imports"];

/** Theater's world has about 50 functions. */
const MAX_IMPORTS = 1_000;
/** For the table, the functions, and the main module. */
const MAX_FIXUP_ARGS = 3;

/**
 * A function with results in memory cannot be lowered before that memory exists. So the main module imports functions of a
 * shim, which call through a table, and another module (the fixup) later puts the lowered functions into that table under the
 * same names. The map gives, for each shim, the arguments of its fixup.
 */
type Fixups = ReadonlyMap<ModuleInstance, readonly InlineCoreInstance[]>;

function tableOwner(instance: CoreInstance): ModuleInstance | undefined {
  if ("module" in instance) return instance;
  for (const item of instance.items.values()) if (item.sort === "table" && "from" in item) return item.from;
  return undefined;
}

/** Looks up table owners once per instance: any number of instances may share an argument. */
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

function findLowered(main: ModuleInstance, { module, field }: CoreImport, fixups: Fixups): Lowered | undefined {
  const arg = main.args.get(module);
  const item = arg !== undefined && "items" in arg ? arg.items.get(field) : undefined;
  if (item === undefined) return undefined;
  if ("options" in item) return item;
  if (!("from" in item)) return undefined;
  const found = fixups
    .get(item.from)
    ?.map(({ items }) => items.get(item.name))
    .find((each) => each?.sort === "func");
  // The shim's code is not read. Equal names are the evidence that it calls this function.
  return found !== undefined && "options" in found && found.lowered.imported?.name === field ? found : undefined;
}

/**
 * Finds the imports of Theater among those of the main module. `onOptions` receives the canonical options of each, `onOtherImport` every
 * import that is not of Theater.
 */
export function theaterImportsOf(
  main: ModuleInstance,
  imports: readonly CoreImport[],
  fixups: Fixups,
  onOptions: (options: CanonOptions) => void,
  onOtherImport: (each: CoreImport) => void,
): Imports {
  if (imports.length > MAX_IMPORTS)
    throw new WasmError("BAD_COMPONENT", `The core module has ${imports.length} imports, and ${MAX_IMPORTS} are read: build it with less.`);
  const theaterImports: Imports[number][] = [];
  for (const each of imports) {
    const { module, field } = each;
    const found = findLowered(main, each, fixups);
    const { interface: of, name: own } = found?.lowered.imported ?? {};
    const name = of === undefined || own === undefined ? undefined : importName(of, own);
    const type = name === undefined ? undefined : importTypes.get(name);
    if (found === undefined || name === undefined || type === undefined) {
      onOtherImport(each);
      continue;
    }
    const signature = loweredSignature(type);
    if (!sameCoreSignature(signature, each.signature))
      throw new WasmError(
        "BAD_COMPONENT",
        `The core module imports ${name} otherwise than as (${signature.params.join(", ")}) -> (${signature.results.join(", ")}): build it again.`,
      );
    onOptions(found.options);
    theaterImports.push({ name, module, field });
  }
  return theaterImports;
}

/** Throws `WasmError` NEEDS_JCO. */
export function refuseOtherImport({ module, field }: CoreImport): never {
  throw needsJco(`The core module imports ${quoted(field)} of ${quoted(module)}, which is no function of Theater's as it is linked`);
}

const INITIALIZE = "_initialize";

const exportNameOf = (item: CoreItem | undefined, instance: ModuleInstance): string | undefined =>
  item !== undefined && "from" in item && item.from === instance ? item.name : undefined;

/** Whether a module uses only `_initialize` of the main one and calls it at its start, as we do when we instantiate the main module alone. */
function onlyInitializes(main: MainModule, { module, args }: ModuleInstance): boolean {
  const { imports, start } = readCoreModule(module);
  const used = imports.flatMap(({ module: of, field }, at) => {
    const arg = args.get(of);
    const name =
      arg === main.instance ? field : arg !== undefined && "items" in arg ? exportNameOf(arg.items.get(field), main.instance) : undefined;
    return name === undefined ? [] : [{ name, at }];
  });
  const [only] = used;
  if (only?.name !== INITIALIZE || used.length !== 1) return false;
  main.func({ sort: "func", from: main.instance, name: INITIALIZE }, { params: [], results: [] });
  return start === imports.slice(0, only.at).filter(({ sort }) => sort === "func").length;
}

/**
 * Throws `WasmError` NEEDS_JCO if other modules import from the main one: they could act on it in ways that are lost when it
 * is instantiated alone.
 */
export function refuseLinked(main: MainModule, instances: readonly CoreInstance[]): void {
  const exposing = new Set<CoreInstance>([main.instance]);
  for (const instance of instances)
    if ("items" in instance && [...instance.items.values()].some((item) => exportNameOf(item, main.instance) !== undefined))
      exposing.add(instance);
  let initialized = false;
  for (const instance of instances) {
    if (!("module" in instance) || ![...instance.args.values()].some((arg) => exposing.has(arg))) continue;
    if (initialized || instance === main.instance || !onlyInitializes(main, instance))
      throw needsJco("The component links several core modules with each other");
    initialized = true;
  }
}
