// Owns: reading a component and checking all of it; the entry to this folder. Does not own: components that need jco (jco/linkable.ts).
import { hash } from "node:crypto";
import { WasmError } from "../wasm-error.ts";
import { COMPONENT, MODULE, preamble, ByteReader } from "./reader.ts";
import type { Component, CoreExport } from "./component.ts";
import {
  fixupsOf,
  theaterImportsOf,
  liftedSignature,
  type MainModule,
  mainModule,
  refuseLinked,
  refuseOtherImport,
} from "./core-linkage.ts";
import { type CanonOptions, needsJco } from "./scope.ts";
import { type Model, readModel } from "./read-model.ts";
import { type ActorExport, checkExports, checkImports, refuseForeignImports } from "./check-world.ts";
import { type ExportName, exportNameOfCore } from "./world.ts";

/** 64 MiB. Guests written in JavaScript contain an engine, and have 12. */
export const MAX_COMPONENT_BYTES = 64 * 1024 * 1024;

const REALLOC = { params: ["i32", "i32", "i32", "i32"], results: ["i32"] } as const;

const componentError = (message: string): WasmError => new WasmError("BAD_COMPONENT", message);

function checkPreamble(bytes: Uint8Array): void {
  if (bytes.length > MAX_COMPONENT_BYTES)
    throw componentError(`The component has ${bytes.length} bytes, and at most ${MAX_COMPONENT_BYTES} are read: build it smaller.`);
  const beginning = preamble(new ByteReader(bytes));
  if (beginning === COMPONENT) return;
  if (beginning === MODULE)
    throw componentError("This is a core module, not a component: make one of it by `wasm-tools component new`, or `componentNew` of jco.");
  if (beginning.startsWith("0061736d"))
    throw componentError(`This is WebAssembly of an unknown version (${beginning.slice(8)}): components of version 0d000100 are read.`);
  throw componentError("This is not WebAssembly: a component begins with the bytes 00 61 73 6d 0d 00 01 00.");
}

/** The memory and the allocator, which all functions must share. */
class SharedOptions {
  readonly #main: MainModule;
  memory: string | undefined;
  realloc: string | undefined;

  constructor(main: MainModule) {
    this.#main = main;
  }

  add = ({ memory, realloc }: CanonOptions): void => {
    if (memory !== undefined) this.memory = this.#same(this.memory, this.#main.memory(memory));
    if (realloc !== undefined) this.realloc = this.#same(this.realloc, this.#main.func(realloc, REALLOC));
  };

  #same(known: string | undefined, name: string): string {
    if (known !== undefined && known !== name) throw needsJco("The component has several memories or allocators");
    return name;
  }
}

function checkCoreExport(main: MainModule, shared: SharedOptions, { func, type, old }: ActorExport): CoreExport {
  if (func.lifted === undefined) throw needsJco("The component exports what it imports");
  const { core, options } = func.lifted;
  const signature = liftedSignature(type);
  shared.add(options);
  return {
    core: main.func(core, signature),
    ...(options.post === undefined ? {} : { post: main.func(options.post, { params: signature.results, results: [] }) }),
    ...(old ? { old } : {}),
  };
}

/** A component truncated between two sections is still well-formed. Core exports for handlers that it does not export reveal it. */
function refuseUnexportedHandlers(main: MainModule, functions: ReadonlyMap<ExportName, unknown>): void {
  for (const core of main.core.exports.keys()) {
    const name = exportNameOfCore(core);
    if (name !== undefined && !functions.has(name))
      throw componentError(`The component has code for ${name} and does not export it: it is cut off, or its world lacks that interface.`);
  }
}

/** A component that was checked against Theater's world, with its model. */
export interface CheckedComponent {
  readonly component: Component;
  readonly model: Model;
  readonly main: MainModule;
}

/** `singleModule`: refuses components with several core modules or other imports than Theater's. Throws as `readComponent`. */
export function readChecked(bytes: Uint8Array, singleModule: boolean): CheckedComponent {
  checkPreamble(bytes);
  const model = readModel(bytes);
  const actor = checkExports(model.exports);
  if (singleModule) refuseForeignImports(model.imports);
  checkImports(model.imports, actor.package);
  const lifted = [...actor.functions.values()].find(({ func }) => func.lifted !== undefined)?.func.lifted;
  if (lifted === undefined) throw needsJco("The component exports what it imports");
  const main = mainModule(lifted.core);
  const shared = new SharedOptions(main);
  const exports: Partial<Record<ExportName, CoreExport>> = {};
  for (const [name, each] of actor.functions) exports[name] = checkCoreExport(main, shared, each);
  refuseUnexportedHandlers(main, actor.functions);
  if (singleModule) refuseLinked(main, model.coreInstances);
  const fixups = fixupsOf(main.instance, model.coreInstances);
  const imports = theaterImportsOf(
    main.instance,
    main.core.imports,
    fixups,
    shared.add,
    singleModule ? refuseOtherImport : () => undefined,
  );
  if (shared.memory === undefined || shared.realloc === undefined)
    throw componentError("The component names no memory or no allocator, and its functions take bytes: build it again.");
  const component: Component = {
    digest: hash("sha256", bytes, "hex"),
    package: actor.package,
    // A copy: posting a view to a worker would copy the whole buffer. `slice` would be a view if `bytes` is a Buffer.
    module: new Uint8Array(main.instance.module),
    realloc: shared.realloc,
    memory: shared.memory,
    imports,
    exports,
  };
  return { component, model, main };
}

/**
 * Reads a component of Theater's world, checks the types of all its imports and exports, and finds the core module with its
 * code. Does not validate that code: the compiler does. Takes time in proportion to its size. Throws
 * `WasmError`: BAD_COMPONENT, WRONG_WORLD, NEEDS_JCO; MEMORY_LIMIT for a module that cannot be bounded.
 */
export const readComponent = (bytes: Uint8Array): Component => readChecked(bytes, true).component;
