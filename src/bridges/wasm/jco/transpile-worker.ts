// Owns: the thread that generates a component's glue with jco. Does not own: starting it (component-reader.ts).
import { hash } from "node:crypto";
import { compileFunction } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import type { Transpiled, TranspileStart } from "./component-reader.ts";

// A thread of its own, since generating takes seconds and hundreds of megabytes.

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** The glue only links modules and provides WASI. Neither waits, so it needs no JSPI. */
const OPTIONS = {
  name: "guest",
  instantiation: "sync",
  wasiShim: false,
  nodejsCompat: false,
  emitTypescriptDeclarations: false,
  // Otherwise the script would contain small modules.
  base64Cutoff: 0,
};

async function transpiled({ url, bytes }: TranspileStart): Promise<Transpiled> {
  const jco: unknown = await import(url);
  const transpile = isRecord(jco) ? (jco["transpileBytes"] ?? jco["transpile"]) : undefined;
  if (typeof transpile !== "function") throw new Error(`${url} has no transpileBytes: install another version of jco`);
  const output: unknown = await transpile(bytes, OPTIONS);
  const files = isRecord(output) && isRecord(output["files"]) ? Object.entries(output["files"]) : [];
  let script: string | undefined;
  const modules: Record<string, string> = {};
  for (const [name, content] of files) {
    if (!(content instanceof Uint8Array)) continue;
    if (name.endsWith(".js")) script = asFunctionBody(new TextDecoder().decode(content));
    else if (name.endsWith(".wasm")) modules[name] = hash("sha256", content, "hex");
  }
  if (script === undefined) throw new Error("jco generated no script");
  // Fails here if it does not compile, not when a guest is instantiated.
  compileFunction(script);
  return { script, modules };
}

const start: TranspileStart = workerData;
parentPort?.postMessage(await transpiled(start), []);

/**
 * Converts the module that jco generates to a function body. A module could import anything of Node, loads asynchronously, and is
 * never unloaded.
 */
function asFunctionBody(module: string): string {
  const body = module.replace(/^export (?=function instantiate\(|const _util = )/gm, "");
  return `${body}\nreturn instantiate;`;
}
