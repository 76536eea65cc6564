// The components of the guest benches through the glue of jco, and an echo as an Extism plug-in, compiled once, in this thread.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { createPlugin } from "@extism/extism";
import type { GuestPeers } from "../guests-peers.ts";

type Bytes = Uint8Array | undefined;

interface Glued {
  readonly actor: { init(state: Bytes, params: [string]): [Bytes] };
  readonly messageServerClient: {
    handleSend(state: Bytes, params: [Uint8Array]): [Bytes];
    handleRequest(state: Bytes, params: [string, Uint8Array]): [Bytes, [Bytes]];
  };
}

interface Generated {
  instantiate(core: (path: string) => WebAssembly.Module, imports: Record<string, Record<string, unknown>>): Glued;
}

const imports = { "theater:simple/runtime": { log: (): void => undefined } };

export const jco: GuestPeers["jco"] = async (component, folder, name) => {
  const { files } = await transpileBytes(component, { name, instantiation: "sync", emitTypescriptDeclarations: false });
  const modules = new Map<string, WebAssembly.Module>();
  for (const [path, bytes] of Object.entries(files)) {
    if (path.endsWith(".wasm")) modules.set(path, new WebAssembly.Module(bytes));
    else writeFileSync(join(folder, `${name}.mjs`), bytes);
  }
  const generated: Generated = await import(pathToFileURL(join(folder, `${name}.mjs`)).href);
  const core = (path: string): WebAssembly.Module => {
    const module = modules.get(path);
    if (module === undefined) throw new Error(`jco asked for ${path}.`);
    return module;
  };
  return () => {
    const { actor, messageServerClient } = generated.instantiate(core, imports);
    return {
      init: (state) => actor.init(state, ["an-actor"])[0],
      send: (state, data) => messageServerClient.handleSend(state, [data])[0],
      request: (state, data) => messageServerClient.handleRequest(state, ["a-request", data])[1][0],
    };
  };
};

export const extism: GuestPeers["extism"] = async () => {
  const wasm = await parse(readFileSync(join(import.meta.dirname, "echo.wat"), "utf8"));
  const module = new WebAssembly.Module(wasm);
  return async () => {
    const plugin = await createPlugin({ wasm: [{ module }] }, { useWasi: false });
    let calls = 0;
    const echo = async (data: Uint8Array): Promise<unknown> => {
      const output = await plugin.call("echo", data);
      calls += 1;
      // It retains all inputs and outputs until it is reset, and has ids for 32,768 of them.
      if (calls % 1_000 === 0) await plugin.reset();
      return output?.bytes();
    };
    return { echo, close: () => plugin.close() };
  };
};
