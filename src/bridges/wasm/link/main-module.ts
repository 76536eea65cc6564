import { type CoreModule, readCoreModule } from "../binary/core-module.ts";
import type { CoreSignature } from "../binary/core-types.ts";
import type { CoreItem, ModuleInstance } from "../model/entities.ts";
import { needsJco } from "../model/scope.ts";
import { WasmError, quoted } from "../wasm-error.ts";
import { sameCoreSignature } from "./flat.ts";

/** The one core module that holds a guest's code, and the names of what is used of it. */
export class MainModule {
  readonly instance: ModuleInstance;
  readonly core: CoreModule;

  constructor(instance: ModuleInstance) {
    this.instance = instance;
    this.core = readCoreModule(instance.module);
  }

  /** Throws `WasmError` where it is of another module, or not what the type it is used with asks for. */
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
