import type { TheaterEvent } from "../theater-stage.ts";
import { readWireJson, WIRE_LIMITS, WireError, type WireValue } from "../wire/index.ts";

/** The result of a call into an actor. */
export type CallOutcome = { readonly state: Uint8Array | null } | { readonly failed: string };

const member = (value: WireValue | undefined, name: string): WireValue | undefined => (value instanceof Map ? value.get(name) : undefined);
const isList = (value: WireValue | undefined): value is readonly WireValue[] => Array.isArray(value);

/** Undefined for other events and for data of an unknown form. */
export function callOutcome({ eventType, data }: TheaterEvent): CallOutcome | undefined {
  if (eventType !== "wasm") return undefined;
  try {
    const wasm = member(readWireJson(data, WIRE_LIMITS), "Wasm");
    const message = member(member(wasm, "WasmError"), "message");
    if (typeof message === "string") return { failed: message };
    const result = member(member(wasm, "WasmResult"), "result");
    const state = isList(result) ? result[0] : undefined;
    return state === null || state instanceof Uint8Array ? { state } : undefined;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
