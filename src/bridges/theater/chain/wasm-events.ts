import type { Printable } from "../wire/index.ts";
import type { UnlinkedEvent } from "./link.ts";

const wasmEvent = (data: Printable, description: string): UnlinkedEvent => ({ eventType: "wasm", data: { Wasm: data }, description });

const suffix = (missing: string | undefined): string => (missing === undefined ? "" : ` (${missing})`);

/** `missing`: which of its parameters are omitted. */
export const wasmCall = (name: string, params: Uint8Array, missing?: string): UnlinkedEvent =>
  wasmEvent({ WasmCall: { function_name: name, params } }, `Wasm call to function '${name}'${suffix(missing)}`);

/** `state`: null if there is none. `missing`: why it is omitted. */
export const wasmResult = (name: string, state: Uint8Array | null, result: Uint8Array, missing: string | undefined): UnlinkedEvent =>
  wasmEvent({ WasmResult: { function_name: name, result: [state, result] } }, `Wasm call to function '${name}' completed${suffix(missing)}`);

export const wasmError = (name: string, message: string): UnlinkedEvent =>
  wasmEvent({ WasmError: { function_name: name, message } }, `Wasm call to function '${name}' failed`);

const runtimeEvent = (data: Printable, description: string): UnlinkedEvent => ({
  eventType: "theater-runtime",
  data: { TheaterRuntime: data },
  description,
});

/** `manifest`: the digest of its text, or `kind:<name>`. */
export const loadEvents = (actor: string, manifest: string): readonly UnlinkedEvent[] => [
  runtimeEvent({ ActorLoadCall: { manifest_id: { hash: manifest } } }, `Loading actor [${actor}] from manifest [${manifest}]`),
  runtimeEvent({ ActorLoadResult: { success: true } }, `Loaded actor [${actor}]`),
];

export const updateEvents = (component: string): readonly UnlinkedEvent[] => [
  runtimeEvent({ ActorUpdateStart: { new_component_address: component } }, `Updating to component [${component}]`),
  runtimeEvent({ ActorUpdateComplete: { new_component_address: component } }, `Updated to component [${component}]`),
];

/** For events that Theater does not have. */
export const logEvent = (message: string): UnlinkedEvent => ({
  eventType: "runtime",
  data: { Runtime: { Log: { level: "info", message } } },
  description: message,
});
