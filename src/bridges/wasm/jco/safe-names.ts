import { type CoreModule, readCoreModule } from "../binary/core-module.ts";
import type { CoreInstance } from "../model/entities.ts";
import { WasmError, quoted } from "../wasm-error.ts";

/** All that compilers write, and nothing that ends a string, a template or a comment of JavaScript. */
const SAFE = /^[\w$.:;,/#@&|~=<>()[\]!?%^+ -]*$/;

function check(name: string): void {
  if (SAFE.test(name)) return;
  throw new WasmError(
    "BAD_COMPONENT",
    `A core module of the component has the name ${quoted(name)}, and names that jco makes code of may not have such characters: build it without.`,
  );
}

function checkModule({ imports, exports }: CoreModule): void {
  for (const { module, field } of imports) {
    check(module);
    check(field);
  }
  for (const name of exports.keys()) check(name);
}

/**
 * Throws `WasmError` BAD_COMPONENT. The glue that jco generates spells the names of core modules between quotes as they are:
 * one with a quote in it would be code of the guest's, outside its sandbox.
 */
export function refuseUnsafeNames(instances: readonly CoreInstance[], modules: Iterable<Uint8Array>): void {
  for (const module of modules) checkModule(readCoreModule(module));
  for (const instance of instances) for (const name of ("items" in instance ? instance.items : instance.args).keys()) check(name);
}
