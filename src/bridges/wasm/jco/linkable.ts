// Owns: checking a component that needs glue of jco, before glue is generated. Does not own: components of one core module (component/read-component.ts).
import { hash } from "node:crypto";
import type { Digest } from "../../../core/contract/index.ts";
import { capTables } from "../component/memory-limits.ts";
import type { Component, Glue } from "../component/component.ts";
import { type CoreInstance, type Entity, type Exports, type ModuleInstance, NeedsJco } from "../component/scope.ts";
import { type CheckedComponent, readChecked } from "../component/read-component.ts";
import { quoted, WasmError } from "../wasm-error.ts";
import { foreignImports } from "../component/check-world.ts";
import { type CoreModule, readCoreModule } from "../component/core-module.ts";

/** Real ones have four: the main one, a WASI adapter, a shim and its fixup. */
const MAX_MODULES = 32;
/** Of all except the main one, since they are compiled in the worker. */
const MAX_BYTES = 4 * 1_048_576;

const WASI = /^(wasi:[a-z0-9-]+\/[a-z0-9-]+)(?:@[\w.+-]+)?$/;

/** A component that needs glue, without that glue. */
export interface Linkable {
  readonly component: Component;
  /** The digest of its main module. */
  readonly main: Digest;
  /** The other core modules with bounded tables, by the digest of the original. */
  readonly modules: ReadonlyMap<Digest, Uint8Array>;
  readonly wasi: Glue["wasi"];
}

const unlinkableError = (why: string): WasmError =>
  new WasmError("BAD_COMPONENT", `${why}. Not even jco's glue is followed there: link the guest by \`wasm-tools component new\` alone.`);

function readUnlinked(bytes: Uint8Array): CheckedComponent {
  try {
    return readChecked(bytes, false);
  } catch (error) {
    throw error instanceof NeedsJco ? unlinkableError(error.why) : error;
  }
}

/** Marks resources, since the glue expects a class for each. */
const memberName = ([name, { sort }]: readonly [string, Entity]): string => (sort === "type" ? `[type]${name}` : name);

function wasiOf(imports: Exports): Glue["wasi"] {
  const found = new Map<string, Set<string>>();
  for (const [name, entity] of foreignImports(imports))
    if (WASI.exec(name)?.[1] === undefined || entity.sort !== "instance") throw unknownImport(name);
  for (const [name, entity] of imports) {
    const of = WASI.exec(name)?.[1];
    if (of === undefined || entity.sort !== "instance") continue;
    // The glue does not distinguish versions of an interface.
    found.set(of, new Set([...(found.get(of) ?? []), ...Array.from(entity.exports, memberName)]));
  }
  return Object.fromEntries(Array.from(found, ([of, names]) => [of, [...names]]));
}

const unknownImport = (name: string): WasmError =>
  new WasmError("WRONG_WORLD", `The component imports ${quoted(name)}, which neither Theater's world nor WASI 0.2 has: build it without.`);

const isModule = (instance: CoreInstance): instance is ModuleInstance => "module" in instance;

/** Reads a component that `readComponent` refused with NEEDS_JCO. Throws `WasmError`. */
export function readLinkable(bytes: Uint8Array): Linkable {
  const { component, model, main } = readUnlinked(bytes);
  const wasi = wasiOf(model.imports);
  const instances = model.coreInstances.filter(isModule);
  if (instances.length > MAX_MODULES) throw unlinkableError(`It has ${instances.length} core modules, and ${MAX_MODULES} are linked`);
  const others = instances.filter((instance) => instance !== main.instance).map(({ module }) => module);
  if (others.reduce((sum, { length }) => sum + length, 0) > MAX_BYTES)
    throw unlinkableError(`Its core modules but the main one have more than ${MAX_BYTES} bytes`);
  refuseUnsafeNames(model.coreInstances, [main.instance.module, ...others]);
  const digest = hash("sha256", main.instance.module, "hex");
  const modules = new Map(others.map((module) => [hash("sha256", module, "hex"), capTables(module)]));
  if (modules.has(digest)) throw unlinkableError("It instantiates its main core module twice");
  return { component, main: digest, modules, wasi };
}

/** Characters that compilers use, and none that end a string, a template or a comment in JavaScript. */
const SAFE = /^[\w$.:;,/#@&|~=<>()[\]!?%^+ -]*$/;

function checkName(name: string): void {
  if (SAFE.test(name)) return;
  throw new WasmError(
    "BAD_COMPONENT",
    `A core module of the component has the name ${quoted(name)}, and names that jco makes code of may not have such characters: build it without.`,
  );
}

function checkModule({ imports, exports }: CoreModule): void {
  for (const { module, field } of imports) {
    checkName(module);
    checkName(field);
  }
  for (const name of exports.keys()) checkName(name);
}

/**
 * Throws `WasmError` BAD_COMPONENT. jco copies names of core modules into string literals without escaping: a name with a quote
 * would become code that runs outside the sandbox.
 */
function refuseUnsafeNames(instances: readonly CoreInstance[], modules: Iterable<Uint8Array>): void {
  for (const module of modules) checkModule(readCoreModule(module));
  for (const instance of instances) for (const name of ("items" in instance ? instance.items : instance.args).keys()) checkName(name);
}
