import type { CoreModule } from "../abi/webassembly.ts";
import { capMemory } from "../component/memory-limits.ts";
import type { GuestCall } from "../sandbox.ts";

/** Of the bytes they were compiled from. */
const KEPT_BYTES = 64 * 1_048_576;

interface Kept {
  readonly module: Promise<CoreModule>;
  readonly bytes: number;
  ready: CoreModule | undefined;
}

// Node's types know nothing of it, and of this the abi, which runs in workers, has no need.
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<CoreModule> };

async function compiled(module: Uint8Array): Promise<CoreModule> {
  try {
    return await WebAssembly.compile(module);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^WebAssembly\.compile\(\): /u, "") : String(error);
    throw new Error(`The guest's module does not compile: ${why}. Build it again.`, { cause: error });
  }
}

/** Compiled once, off the main thread, for all workers. The one used last stands last. */
export class Modules {
  readonly #kept = new Map<string, Kept>();
  readonly #gone: (key: string) => void;
  #bytes = 0;

  constructor(gone: (key: string) => void) {
    this.#gone = gone;
  }

  /** At once where it is there: most calls shall not wait a turn for it. */
  get(key: string, call: GuestCall): CoreModule | Promise<CoreModule> {
    const kept = this.#kept.get(key);
    if (kept === undefined) return this.#compile(key, call);
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept.ready ?? kept.module;
  }

  async #compile(key: string, { component, limits }: GuestCall): Promise<CoreModule> {
    const capped = capMemory(component.module, limits.memoryBytes);
    const kept: Kept = { module: compiled(capped), bytes: capped.length, ready: undefined };
    this.#kept.set(key, kept);
    this.#bytes += kept.bytes;
    this.#shrink(key);
    try {
      return (kept.ready = await kept.module);
    } catch (error) {
      if (this.#kept.get(key) === kept) this.#drop(key, kept);
      throw error;
    }
  }

  #shrink(but: string): void {
    for (const [key, kept] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES || key === but) return;
      this.#drop(key, kept);
    }
  }

  #drop(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= kept.bytes;
    this.#gone(key);
  }
}
