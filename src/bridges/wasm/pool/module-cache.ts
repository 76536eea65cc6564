// Owns: compiled core modules, shared by all workers.
import type { CoreModule } from "../abi/webassembly.ts";
import { capMemory } from "../component/memory-limits.ts";
import type { GuestCall } from "../sandbox.ts";
import { messageOf } from "../wasm-error.ts";

/** Counts the bytes they were compiled from. */
const MAX_BYTES = 64 * 1_048_576;

interface CachedModule {
  readonly module: Promise<CoreModule>;
  readonly bytes: number;
  ready: CoreModule | undefined;
}

// Asynchronous compilation is used only here, so abi/webassembly.ts does not declare it.
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<CoreModule> };

async function compile(module: Uint8Array): Promise<CoreModule> {
  try {
    return await WebAssembly.compile(module);
  } catch (error) {
    const why = messageOf(error).replace(/^WebAssembly\.compile\(\): /u, "");
    throw new Error(`The guest's module does not compile: ${why}. Build it again.`, { cause: error });
  }
}

/** Compiles each module once, off the main thread. Evicts the least recently used. */
export class ModuleCache {
  readonly #modules = new Map<string, CachedModule>();
  readonly #onEvicted: (key: string) => void;
  #bytes = 0;

  constructor(onEvicted: (key: string) => void) {
    this.#onEvicted = onEvicted;
  }

  /** Returns a compiled module synchronously, to save most calls a turn of the event loop. */
  get(key: string, call: GuestCall): CoreModule | Promise<CoreModule> {
    const cached = this.#modules.get(key);
    if (cached === undefined) return this.#compile(key, call);
    this.#modules.delete(key);
    this.#modules.set(key, cached);
    return cached.ready ?? cached.module;
  }

  async #compile(key: string, { component, limits }: GuestCall): Promise<CoreModule> {
    const capped = capMemory(component.module, limits.memoryBytes);
    const cached: CachedModule = { module: compile(capped), bytes: capped.length, ready: undefined };
    this.#modules.set(key, cached);
    this.#bytes += cached.bytes;
    this.#shrink(key);
    try {
      return (cached.ready = await cached.module);
    } catch (error) {
      if (this.#modules.get(key) === cached) this.#drop(key, cached);
      throw error;
    }
  }

  #shrink(except: string): void {
    for (const [key, cached] of this.#modules) {
      if (this.#bytes <= MAX_BYTES || key === except) return;
      this.#drop(key, cached);
    }
  }

  #drop(key: string, cached: CachedModule): void {
    this.#modules.delete(key);
    this.#bytes -= cached.bytes;
    this.#onEvicted(key);
  }
}
