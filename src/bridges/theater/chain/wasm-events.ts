import type { Printable } from "../wire/index.ts";
import type { Unlinked } from "./link.ts";

const told = (data: Printable, description: string): Unlinked => ({ eventType: "wasm", data: { Wasm: data }, description });

const behind = (missing: string | undefined): string => (missing === undefined ? "" : ` (${missing})`);

/** `missing`: which of its parameters are omitted. */
export const wasmCall = (name: string, params: Uint8Array, missing?: string): Unlinked =>
  told({ WasmCall: { function_name: name, params } }, `Wasm call to function '${name}'${behind(missing)}`);

/** `state`: null if there is none. `missing`: why it is omitted. */
export const wasmResult = (name: string, state: Uint8Array | null, result: Uint8Array, missing: string | undefined): Unlinked =>
  told({ WasmResult: { function_name: name, result: [state, result] } }, `Wasm call to function '${name}' completed${behind(missing)}`);

export const wasmError = (name: string, message: string): Unlinked =>
  told({ WasmError: { function_name: name, message } }, `Wasm call to function '${name}' failed`);

const runtime = (data: Printable, description: string): Unlinked => ({
  eventType: "theater-runtime",
  data: { TheaterRuntime: data },
  description,
});

/** `manifest`: the digest of its text, or `kind:<name>`. */
export const loaded = (actor: string, manifest: string): readonly Unlinked[] => [
  runtime({ ActorLoadCall: { manifest_id: { hash: manifest } } }, `Loading actor [${actor}] from manifest [${manifest}]`),
  runtime({ ActorLoadResult: { success: true } }, `Loaded actor [${actor}]`),
];

export const updated = (component: string): readonly Unlinked[] => [
  runtime({ ActorUpdateStart: { new_component_address: component } }, `Updating to component [${component}]`),
  runtime({ ActorUpdateComplete: { new_component_address: component } }, `Updated to component [${component}]`),
];

/** For events that Theater does not have. */
export const noted = (message: string): Unlinked => ({
  eventType: "runtime",
  data: { Runtime: { Log: { level: "info", message } } },
  description: message,
});
