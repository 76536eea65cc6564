// Owns: instantiating a component by its glue. Does not own: WASI (wasi.ts), and generating glue (component-reader.ts).
import { compileFunction } from "node:vm";
import { compile, type CoreModule, webAssembly, GuestTrap } from "../abi/webassembly.ts";
import type { Component, Glue } from "../component/component.ts";
import { IMPORTS } from "../component/world.ts";
import { deniedError, type WasiHost, wasiOf } from "./wasi.ts";

type CoreImports = Readonly<Record<string, Readonly<Record<string, object>>>>;
type CoreInstance = InstanceType<typeof webAssembly.Instance>;

type Instantiate = (
  getCoreModule: (name: string) => CoreModule,
  imports: Readonly<Record<string, unknown>>,
  instantiateCore: (module: CoreModule, imports?: CoreImports) => CoreInstance,
) => unknown;

/** Compiled glue and core modules except the main one: once for all instances of this worker. */
interface Compiled {
  readonly instantiate: Instantiate;
  readonly modules: ReadonlyMap<string, CoreModule>;
}

const compiled = new WeakMap<Glue, Compiled>();

const isInstantiate = (value: unknown): value is Instantiate => typeof value === "function";

/** Globals that the glue would use for debugging. */
const SHADOWED = ["process", "console"];
const SILENT = Object.fromEntries(["debug", "log", "warn", "error"].map((name) => [name, () => undefined]));

/**
 * Uses `compileFunction`, not an ES module (of a file or `data:` URL): a module could import anything of Node, would load
 * asynchronously while other guests run, and would stay in memory as long as the worker. Here `import()` is refused, and unused
 * glue is collected. This is not a security boundary. `refuseUnsafeNames`, and the content store to which guests cannot write
 * glue, ensure that the script contains only code of jco.
 */
function compileGlue(glue: Glue): Compiled {
  const known = compiled.get(glue);
  if (known !== undefined) return known;
  const instantiate: unknown = compileFunction(glue.script, SHADOWED)(undefined, SILENT);
  if (!isInstantiate(instantiate)) throw new GuestTrap("The guest's glue is damaged: start it again.");
  const modules = new Map(Object.entries(glue.modules).map(([name, bytes]) => [name, compile(bytes)]));
  const compiledGlue = { instantiate, modules };
  compiled.set(glue, compiledGlue);
  return compiledGlue;
}

/**
 * Instantiates a component's core modules as its glue links them, and returns the exports of the main one. `own`: its imports of
 * Theater. The main module gets them directly, not through the glue, so host calls of such guests are limited, recorded and
 * suspended like those of other guests.
 */
export function instantiateWithGlue(module: CoreModule, { glue }: Component, own: CoreImports, host: WasiHost): CoreInstance["exports"] {
  if (glue === undefined) throw new Error("This component has no glue");
  const { instantiate, modules } = compileGlue(glue);
  const ownExports = new Set<unknown>();
  let main: CoreInstance | undefined;
  const getCoreModule = (name: string): CoreModule => {
    const found = name === glue.main ? module : modules.get(name);
    if (found === undefined) throw new GuestTrap(`The guest's glue asks for a core module ${name}, which there is not.`);
    return found;
  };
  const importsFor = (members: CoreImports[string]): CoreImports[string] =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, ownExports.has(value) ? value : guarded(value, host)]));
  instantiate(getCoreModule, glueImports(glue, host), (each, imports = {}) => {
    const all: Record<string, CoreImports[string]> = {};
    for (const [name, members] of Object.entries(imports)) all[name] = importsFor(members);
    if (each === module) for (const [name, members] of Object.entries(own)) all[name] = { ...all[name], ...members };
    const instance = new webAssembly.Instance(each, all);
    for (const value of Object.values(instance.exports)) ownExports.add(value);
    if (each === module) main = instance;
    return instance;
  });
  if (main === undefined) throw new GuestTrap("The guest's glue does not instantiate its main core module.");
  return main.exports;
}

/** Wraps a function of the glue, through which the guest calls WASI: counts the call, and turns an error into a trap. */
function guarded(value: object, host: WasiHost): object {
  if (typeof value !== "function") return value;
  return (...flat: readonly unknown[]): unknown => {
    try {
      host.count();
      return value(...flat);
    } catch (thrown) {
      throw host.fail(thrown);
    }
  };
}

type Members = Record<string, unknown>;

/** The names that the glue uses. */
const camel = (name: string): string => name.toLowerCase().replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const pascal = (name: string): string => camel(`-${name}`);

/** A WIT name like `[method]output-stream.write`, or without a prefix. */
const MEMBER = /^(?:\[(\w+)\])?([^.]+)(?:\.(.+))?$/;

/** The imports of the glue. Members that are not offered exist too, and trap. */
function glueImports({ wasi }: Glue, host: WasiHost): Readonly<Record<string, Members>> {
  const offered = wasiOf(host);
  const imports: Record<string, Members> = {};
  for (const [of, names] of Object.entries(wasi)) {
    const members: Members = { ...offered[of] };
    for (const each of names) {
      const [, sort, name = "", method] = MEMBER.exec(each) ?? [];
      const trap = (): never => {
        throw deniedError(`${of}.${each}`);
      };
      if (sort === undefined) members[camel(name)] ??= trap;
      else {
        const resource = (members[pascal(name)] ??= resourceThat(sort === "constructor" ? trap : () => undefined));
        if (method !== undefined) addMissing(resource, sort, camel(method), trap);
      }
    }
    imports[of] = members;
  }
  return { ...imports, ...theaterStubs() };
}

/** A class for the glue, which only constructs it or looks up methods on it. */
const resourceThat = (constructs: () => void): unknown =>
  function resource(): void {
    constructs();
  };

function addMissing(resource: unknown, sort: string, name: string, trap: () => never): void {
  if (typeof resource !== "function") return;
  const holder: unknown = sort === "static" ? resource : resource.prototype;
  if (typeof holder === "object" || typeof holder === "function")
    if (holder !== null && !(name in holder)) Object.defineProperty(holder, name, { value: trap });
}

function stub(): never {
  throw new Error("An import of Theater's was called through the glue");
}

/** The main module gets Theater's imports directly, so the glue gets stubs that are never called. */
function theaterStubs(): Record<string, Members> {
  const interfaces = Object.entries(IMPORTS).map(
    ([name, functions]) => [name, Object.fromEntries(Object.keys(functions).map((each) => [camel(each), stub]))] as const,
  );
  return Object.fromEntries(
    ["theater:simple", "ntwk:theater"].flatMap((of) => interfaces.map(([name, members]) => [`${of}/${name}`, members] as const)),
  );
}
