// Owns: an instance of a guest's component, and calling its exports. Does not own: limits and outcomes of a call (run-call.ts).
import type { Component } from "../component/component.ts";
import { instantiateWithGlue } from "../jco/glue.ts";
import type { ExportName } from "../component/world.ts";
import { GuestMemory, UNBOUNDED } from "./memory.ts";
import { type CoreFunction, type CoreModule, webAssembly, guestError, GuestTrap } from "./webassembly.ts";
import { isLocalImport, type Boundary, type CallContext, coreImportsOf } from "./imports.ts";
import { type CompiledExport, compiledExport } from "./world-functions.ts";
import type { WasiHost } from "../jco/wasi.ts";
import type { WitValue } from "../wit.ts";

interface ExportEntry {
  readonly type: CompiledExport;
  readonly core: CoreFunction;
  readonly post: CoreFunction | undefined;
  readonly old: boolean;
}

/** Each leaves about 3 KB in jco's glue, which searches through them. */
const MAX_WASI_CALLS = 1_000;

/** An instance with its memory. It is broken after a failure, since its globals may be inconsistent. */
export class Instance {
  /** It imports functions that wait, so its calls run on a stack that can be suspended. */
  readonly suspends: boolean;
  readonly #component: Component;
  readonly #exports: Readonly<Record<string, unknown>>;
  readonly #memory: GuestMemory;
  readonly #entries = new Map<ExportName, ExportEntry>();
  #host: CallContext | undefined;
  /** `may_leave` of the component model: false while it starts, allocates, cleans up, or waits. */
  #mayLeave = false;
  /** Separate from `#failure`: after a stack overflow there may be no stack left to create an error. */
  #broken = false;
  #failure: Error | undefined;
  /** Calls of WASI so far. */
  #wasiCalls = 0;

  /** Instantiates the component and runs its start function. Throws GuestTrap or NoRoom. */
  constructor(module: CoreModule, component: Component) {
    this.#component = component;
    this.suspends = component.imports.some(({ name }) => !isLocalImport(name));
    try {
      const imports = coreImportsOf(component, this.#boundary());
      if (component.glue === undefined) {
        this.#exports = new webAssembly.Instance(module, imports).exports;
        // A reactor module expects this call first. In the component, a module of its own makes it.
        const initialize = this.#exports["_initialize"];
        if (isFunction(initialize)) initialize();
      } else this.#exports = instantiateWithGlue(module, component, imports, this.#wasi());
      const memory = this.#exports[component.memory];
      if (!(memory instanceof webAssembly.Memory) || !(memory.buffer instanceof ArrayBuffer))
        throw new GuestTrap(`The guest's module exports no memory ${component.memory} of its own.`);
      this.#memory = new GuestMemory(memory, this.#function(component.realloc, 4));
    } catch (thrown) {
      throw this.#fail(thrown);
    }
    if (this.#broken) throw this.#fail(undefined);
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** jco's glue retains something of each WASI call, so an instance is replaced after many. */
  get needsReplacing(): boolean {
    return this.#wasiCalls > MAX_WASI_CALLS;
  }

  get memoryBytes(): number {
    return this.#memory.size;
  }

  /** Calls an export, and returns `{ ok }` or `{ err }`. Throws GuestTrap or GuestKilled, synchronously or not. One call at a time. */
  call(name: ExportName, state: Uint8Array | undefined, params: readonly WitValue[], host: CallContext): WitValue | Promise<WitValue> {
    if (this.#broken || this.#host !== undefined)
      throw new Error("This instance is broken or in a call: make another, or wait for the call to end.");
    this.#host = host;
    try {
      const entry = this.#exportEntry(name);
      this.#memory.refresh();
      this.#memory.budget = UNBOUNDED;
      const flat = entry.type.lower(this.#memory, [state, entry.old ? params.slice(1) : params]);
      this.#memory.budget = host.importBudget;
      this.#mayLeave = true;
      const given = entry.core(...flat);
      if (!(given instanceof Promise)) return this.#finish(entry, given, host);
      return given.then(
        (later) => this.#finish(entry, later, host),
        (thrown: unknown) => {
          throw this.#fail(thrown);
        },
      );
    } catch (thrown) {
      throw this.#fail(thrown);
    }
  }

  #finish({ type, post }: ExportEntry, given: unknown, host: CallContext): WitValue {
    this.#mayLeave = false;
    // The guest caught the exception of an import, and continued.
    if (this.#broken) throw this.#fail(undefined);
    try {
      this.#memory.refresh();
      this.#memory.budget = host.resultBudget;
      const value = type.lift(this.#memory, given);
      if (typeof given === "number") post?.(given);
      if (this.#broken) throw this.#fail(undefined);
      this.#host = undefined;
      return value;
    } catch (thrown) {
      throw this.#fail(thrown);
    }
  }

  #exportEntry(name: ExportName): ExportEntry {
    let entry = this.#entries.get(name);
    if (entry !== undefined) return entry;
    const found = this.#component.exports[name];
    if (found === undefined) throw new GuestTrap(`The guest does not export ${name}.`);
    const old = found.old === true;
    const type = compiledExport(name, old);
    const core = this.#function(found.core, type.arity);
    const post = found.post === undefined ? undefined : this.#function(found.post, 1);
    entry = { type, core: this.suspends ? (webAssembly.promising?.(core) ?? core) : core, post, old };
    this.#entries.set(name, entry);
    return entry;
  }

  #function(name: string, arity: number): CoreFunction {
    const found = this.#exports[name];
    if (!isFunction(found) || found.length !== arity)
      throw new GuestTrap(`The guest's module has no function ${name} of ${arity} parameters.`);
    return found;
  }

  #boundary(): Boundary {
    return {
      leave: (name) => {
        if (!this.#mayLeave || this.#host === undefined || this.#broken)
          throw new GuestTrap(`The guest called ${name} where none may be called: while it starts, allocates or cleans up.`);
        this.#mayLeave = false;
        this.#memory.refresh();
        return { host: this.#host, memory: this.#memory };
      },
      enter: () => void (this.#mayLeave = true),
      fail: (thrown) => this.#fail(thrown),
    };
  }

  #wasi(): WasiHost {
    const granted = this.#component.imports.some(({ name }) => name === "runtime.log");
    return {
      call: () => this.#host,
      print: (text) => {
        if (!granted || this.#host === undefined) return;
        this.#host.importBudget.spend(text.length);
        const line = text.endsWith("\n") ? text.slice(0, -1) : text;
        if (line !== "") this.#host.answer("runtime.log", [line]);
      },
      count: () => {
        this.#wasiCalls += 1;
        this.#host?.count();
      },
      fail: (thrown) => this.#fail(thrown),
    };
  }

  /** Keeps the first failure; later ones are consequences. */
  #fail(thrown: unknown): Error {
    this.#broken = true;
    this.#mayLeave = false;
    this.#failure ??= guestError(thrown ?? new RangeError("call stack"));
    return this.#failure;
  }
}

const isFunction = (value: unknown): value is CoreFunction => typeof value === "function";
