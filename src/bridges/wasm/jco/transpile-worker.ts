import { hash } from "node:crypto";
import { compileFunction } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import type { Transpiled, TranspileStart } from "./component-reader.ts";

/** What one thread does: makes a component's glue by jco. Generating takes seconds of one thread, and hundreds of megabytes. */

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

/** Only linking and WASI are left to the glue, and neither waits: no JSPI. */
const OPTIONS = {
  name: "guest",
  instantiation: "sync",
  wasiShim: false,
  nodejsCompat: false,
  emitTypescriptDeclarations: false,
  // Small modules would be spelt in the script else.
  base64Cutoff: 0,
};

async function transpiled({ url, bytes }: TranspileStart): Promise<Transpiled> {
  const jco: unknown = await import(url);
  const transpile = isRecord(jco) ? (jco["transpileBytes"] ?? jco["transpile"]) : undefined;
  if (typeof transpile !== "function") throw new Error(`${url} has no transpileBytes: install another version of jco`);
  const made: unknown = await transpile(bytes, OPTIONS);
  const files = isRecord(made) && isRecord(made["files"]) ? Object.entries(made["files"]) : [];
  let script: string | undefined;
  const modules: Record<string, string> = {};
  for (const [name, content] of files) {
    if (!(content instanceof Uint8Array)) continue;
    if (name.endsWith(".js")) script = asFunctionBody(new TextDecoder().decode(content));
    else if (name.endsWith(".wasm")) modules[name] = hash("sha256", content, "hex");
  }
  if (script === undefined) throw new Error("jco generated no script");
  // Whether it can be compiled is found out before a guest is made of it.
  compileFunction(script);
  return { script, modules };
}

const start: TranspileStart = workerData;
parentPort?.postMessage(await transpiled(start), []);

/**
 * jco generates a module. A module could import whatever Node has, is loaded later, and is never given back: as a
 * function's body it can do none of that.
 */
export function asFunctionBody(module: string): string {
  const body = module.replace(/^export (?=function instantiate\(|const _util = )/gm, "");
  return `${body}\nreturn instantiate;`;
}
