import { hash } from "node:crypto";
import type { Digest } from "../../../core/contract/index.ts";
import { capTables } from "../binary/cap-memory.ts";
import type { Component, Glue } from "../component.ts";
import type { CoreInstance, Entity, Exports, ModuleInstance } from "../model/entities.ts";
import { NeedsJco } from "../model/scope.ts";
import { type ReadWorld, readWorld } from "../read-component.ts";
import { WasmError, quoted } from "../wasm-error.ts";
import { foreignImports } from "../world/check-world.ts";
import { refuseUnsafeNames } from "./safe-names.ts";

/** Real ones have 4: the main one, an adapter of WASI, a shim and its fixup. */
const MAX_MODULES = 32;
/** Of all but the main one: they are compiled where the guest runs. */
const MAX_BYTES = 4 * 1_048_576;

const WASI = /^(wasi:[a-z0-9-]+\/[a-z0-9-]+)(?:@[\w.+-]+)?$/;

/** A component that generated glue links: all but that glue. */
export interface Linkable {
  readonly component: Component;
  /** Of its `module`. */
  readonly main: Digest;
  /** The other core modules, by the digest of what they were before their tables were bounded. */
  readonly modules: ReadonlyMap<Digest, Uint8Array>;
  readonly wasi: Glue["wasi"];
}

const beyond = (why: string): WasmError =>
  new WasmError("BAD_COMPONENT", `${why}. Not even jco's glue is followed there: link the guest by \`wasm-tools component new\` alone.`);

function read(bytes: Uint8Array): ReadWorld {
  try {
    return readWorld(bytes, false);
  } catch (error) {
    throw error instanceof NeedsJco ? beyond(error.why) : error;
  }
}

/** Resources are told from functions, since the glue wants a class of each. */
const named = ([name, { sort }]: readonly [string, Entity]): string => (sort === "type" ? `[type]${name}` : name);

function wasiOf(imports: Exports): Glue["wasi"] {
  const found = new Map<string, Set<string>>();
  for (const [name, entity] of foreignImports(imports))
    if (WASI.exec(name)?.[1] === undefined || entity.sort !== "instance") throw stranger(name);
  for (const [name, entity] of imports) {
    const of = WASI.exec(name)?.[1];
    if (of === undefined || entity.sort !== "instance") continue;
    // Two versions of one interface are one in the glue.
    found.set(of, new Set([...(found.get(of) ?? []), ...Array.from(entity.exports, named)]));
  }
  return Object.fromEntries(Array.from(found, ([of, names]) => [of, [...names]]));
}

const stranger = (name: string): WasmError =>
  new WasmError("WRONG_WORLD", `The component imports ${quoted(name)}, which neither Theater's world nor WASI 0.2 has: build it without.`);

const isModule = (instance: CoreInstance): instance is ModuleInstance => "module" in instance;

/** Reads what `readComponent` refuses with NEEDS_JCO. Throws `WasmError`. */
export function readLinkable(bytes: Uint8Array): Linkable {
  const { component, model, main } = read(bytes);
  const wasi = wasiOf(model.imports);
  const instances = model.coreInstances.filter(isModule);
  if (instances.length > MAX_MODULES) throw beyond(`It has ${instances.length} core modules, and ${MAX_MODULES} are linked`);
  const others = instances.filter((instance) => instance !== main.instance).map(({ module }) => module);
  if (others.reduce((sum, { length }) => sum + length, 0) > MAX_BYTES)
    throw beyond(`Its core modules but the main one have more than ${MAX_BYTES} bytes`);
  refuseUnsafeNames(model.coreInstances, [main.instance.module, ...others]);
  const digest = hash("sha256", main.instance.module, "hex");
  const modules = new Map(others.map((module) => [hash("sha256", module, "hex"), capTables(module)]));
  if (modules.has(digest)) throw beyond("It instantiates its main core module twice");
  return { component, main: digest, modules, wasi };
}
