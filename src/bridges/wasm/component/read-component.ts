import { hash } from "node:crypto";
import { WasmError } from "../wasm-error.ts";
import { COMPONENT, MODULE, preamble, Reader } from "./reader.ts";
import type { Component, CoreExport } from "./component.ts";
import { fixupsOf, importsOf, liftedSignature, type MainModule, mainModule, refuseLinked, refuseOther } from "./core-linkage.ts";
import { type CanonOptions, needsJco } from "./scope.ts";
import { type Model, readModel } from "./read-model.ts";
import { type ActorExport, actorExports, checkImports, refuseForeign } from "./check-world.ts";
import { type ExportName, exportNameOfCore } from "./world.ts";

/** 64 MiB: JavaScript guests, which bring their engine, have 12. */
export const MAX_COMPONENT_BYTES = 64 * 1024 * 1024;

const REALLOC = { params: ["i32", "i32", "i32", "i32"], results: ["i32"] } as const;

const bad = (message: string): WasmError => new WasmError("BAD_COMPONENT", message);

function checkBeginning(bytes: Uint8Array): void {
  if (bytes.length > MAX_COMPONENT_BYTES)
    throw bad(`The component has ${bytes.length} bytes, and at most ${MAX_COMPONENT_BYTES} are read: build it smaller.`);
  const beginning = preamble(new Reader(bytes));
  if (beginning === COMPONENT) return;
  if (beginning === MODULE)
    throw bad("This is a core module, not a component: make one of it by `wasm-tools component new`, or `componentNew` of jco.");
  if (beginning.startsWith("0061736d"))
    throw bad(`This is WebAssembly of an unknown version (${beginning.slice(8)}): components of version 0d000100 are read.`);
  throw bad("This is not WebAssembly: a component begins with the bytes 00 61 73 6d 0d 00 01 00.");
}

/** The one memory and the one allocator of all functions. */
class Uses {
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

function coreExport(main: MainModule, uses: Uses, { func, type, old }: ActorExport): CoreExport {
  if (func.lifted === undefined) throw needsJco("The component exports what it imports");
  const { core, options } = func.lifted;
  const signature = liftedSignature(type);
  uses.add(options);
  return {
    core: main.func(core, signature),
    ...(options.post === undefined ? {} : { post: main.func(options.post, { params: signature.results, results: [] }) }),
    ...(old ? { old } : {}),
  };
}

/** Between two sections nothing says that a component is cut off: what its code has for handlers does. */
function refuseForgotten(main: MainModule, functions: ReadonlyMap<ExportName, unknown>): void {
  for (const core of main.core.exports.keys()) {
    const name = exportNameOfCore(core);
    if (name !== undefined && !functions.has(name))
      throw bad(`The component has code for ${name} and does not export it: it is cut off, or its world lacks that interface.`);
  }
}

/** A component whose part in Theater's world was checked, and what else there is to it. */
export interface ReadWorld {
  readonly component: Component;
  readonly model: Model;
  readonly main: MainModule;
}

/** `alone`: its core module shall be all that there is, and Theater all that it imports. Throws as `readComponent`. */
export function readWorld(bytes: Uint8Array, alone: boolean): ReadWorld {
  checkBeginning(bytes);
  const model = readModel(bytes);
  const actor = actorExports(model.exports);
  if (alone) refuseForeign(model.imports);
  checkImports(model.imports, actor.package);
  const lifted = [...actor.functions.values()].find(({ func }) => func.lifted !== undefined)?.func.lifted;
  if (lifted === undefined) throw needsJco("The component exports what it imports");
  const main = mainModule(lifted.core);
  const uses = new Uses(main);
  const exports: Partial<Record<ExportName, CoreExport>> = {};
  for (const [name, each] of actor.functions) exports[name] = coreExport(main, uses, each);
  refuseForgotten(main, actor.functions);
  if (alone) refuseLinked(main, model.coreInstances);
  const fixups = fixupsOf(main.instance, model.coreInstances);
  const imports = importsOf(main.instance, main.core.imports, fixups, uses.add, alone ? refuseOther : () => undefined);
  if (uses.memory === undefined || uses.realloc === undefined)
    throw bad("The component names no memory or no allocator, and its functions take bytes: build it again.");
  const component: Component = {
    digest: hash("sha256", bytes, "hex"),
    package: actor.package,
    // Not a view: what is sent to a worker would take all the rest with it. Nor `slice`, which of a Buffer is a view.
    module: new Uint8Array(main.instance.module),
    realloc: uses.realloc,
    memory: uses.memory,
    imports,
    exports,
  };
  return { component, model, main };
}

/**
 * Reads a component of Theater's world, checks the types of all it imports and exports, and finds the core module that
 * holds its code. Not whether that code is valid: compiling does. Takes time in proportion to its size. Throws
 * `WasmError`: BAD_COMPONENT, WRONG_WORLD, NEEDS_JCO; MEMORY_LIMIT for a module that could not be bounded.
 */
export const readComponent = (bytes: Uint8Array): Component => readWorld(bytes, true).component;
