import { type Clock, type ContentStore, systemClock } from "../../../core/contract/index.ts";
import type { Component } from "../component.ts";
import { readComponent } from "../read-component.ts";
import { WasmError } from "../wasm-error.ts";
import { findJco, type Jco } from "./find-jco.ts";
import { GlueStore } from "./glue-store.ts";
import { type Linkable, readLinkable } from "./linkable.ts";
import { type Transpiled, transpile } from "./transpile.ts";

/** What `createComponentReader` takes. */
export interface ComponentReaderOptions {
  /** Where glue is kept over restarts. Absent: it is generated anew in each process. */
  readonly contents?: ContentStore;
  /** The file from which jco is looked up, as an import in it would be. Default: this one. */
  readonly from?: string;
  readonly clock?: Clock;
}

/**
 * Reads components as `readComponent` does, and those too that only generated glue follows, where jco is installed: without
 * it they are refused with `WasmError` NEEDS_JCO. Glue is generated in a thread of its own, for one component at a time.
 */
export function createComponentReader(options: ComponentReaderOptions = {}): (bytes: Uint8Array) => Component | Promise<Component> {
  const { contents, from = import.meta.url, clock = systemClock } = options;
  const store = contents && new GlueStore(contents);
  let last: Promise<unknown> = Promise.resolve();

  async function made(jco: Jco, linkable: Linkable, bytes: Uint8Array): Promise<Transpiled> {
    const { digest } = linkable.component;
    const kept = await store?.get(digest, jco);
    if (kept !== undefined) return kept;
    const fresh = await transpile(jco, bytes, clock);
    await store?.put(digest, jco, fresh);
    return fresh;
  }

  async function glued(jco: Jco, bytes: Uint8Array): Promise<Component> {
    const linkable = readLinkable(bytes);
    const turn = last.then(() => made(jco, linkable, bytes));
    last = turn.catch(() => undefined);
    return withGlue(linkable, await turn);
  }

  return (bytes) => {
    try {
      return readComponent(bytes);
    } catch (error) {
      const jco = error instanceof WasmError && error.code === "NEEDS_JCO" ? findJco(from) : undefined;
      if (jco === undefined) throw error;
      return glued(jco, bytes);
    }
  };
}

/** Of jco's work only the script is taken: the core modules are those that were read and checked. */
function withGlue({ component, main, modules, wasi }: Linkable, { script, modules: digests }: Transpiled): Component {
  const others: Record<string, Uint8Array> = {};
  let called: string | undefined;
  for (const [name, digest] of Object.entries(digests)) {
    const module = modules.get(digest);
    if (digest === main) called = name;
    else if (module !== undefined) others[name] = module;
    else
      throw new WasmError(
        "BAD_COMPONENT",
        `jco rewrote the core module ${name}, which was read otherwise: install another version of jco.`,
      );
  }
  if (called === undefined) throw new WasmError("BAD_COMPONENT", "jco left the component's main core module away: build it again.");
  return { ...component, glue: { script, main: called, modules: others, wasi } };
}
