import { Worker } from "node:worker_threads";
import type { Clock, Digest } from "../../../core/contract/index.ts";
import { WasmError } from "../wasm-error.ts";
import type { Jco } from "./find-jco.ts";

export interface TranspileStart {
  readonly url: string;
  readonly bytes: Uint8Array;
}

export interface Transpiled {
  /** The body of a function that returns `instantiate`. */
  readonly script: string;
  /** The core modules, by what the script calls them. */
  readonly modules: Readonly<Record<string, Digest>>;
}

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./transpile-worker.ts" : "./transpile-worker.js", import.meta.url);

const LONGEST_MS = 120_000;
const HEAP_MB = 1_024;
/** 12 MB of WASI make 1 MB of it. */
const MAX_SCRIPT = 16 * 1_048_576;

const failed = (why: string): WasmError =>
  new WasmError(
    "BAD_COMPONENT",
    `jco made no glue for the component: ${why}. Build it again, or link it by \`wasm-tools component new\` alone.`,
  );

/** In a thread that ends with it. Throws `WasmError` BAD_COMPONENT. */
export async function transpile(jco: Jco, bytes: Uint8Array, clock: Clock): Promise<Transpiled> {
  const { promise, resolve, reject } = Promise.withResolvers<Transpiled>();
  const start: TranspileStart = { url: jco.url, bytes };
  const worker = new Worker(ENTRY, {
    workerData: start,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    execArgv: [],
    env: {},
    name: "troupe-jco",
  });
  worker.on("message", resolve);
  worker.on("error", (error: unknown) => reject(failed(error instanceof Error ? error.message : String(error))));
  worker.on("exit", () => reject(failed("its thread ended")));
  const undo = clock.after(LONGEST_MS, () => reject(failed(`it took more than ${LONGEST_MS / 1_000} seconds`)));
  try {
    const made = await promise;
    if (made.script.length > MAX_SCRIPT) throw failed(`it has ${made.script.length} characters, and at most ${MAX_SCRIPT} are run`);
    return made;
  } finally {
    undo();
    await worker.terminate();
  }
}
