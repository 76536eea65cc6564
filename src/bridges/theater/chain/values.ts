import type { WitValue } from "../../wasm/index.ts";
import type { Printable } from "../wire/index.ts";

const isList = (value: WitValue): value is readonly WitValue[] => Array.isArray(value);

/** Rust's form of WIT names such as `event-type`. */
const snakeCase = (name: string): string => name.replaceAll("-", "_");

/** A WIT value in the form in which serde prints its Rust counterpart. */
export function printWit(value: WitValue): Printable {
  if (value === undefined) return null;
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  if (isList(value)) return value.map(printWit);
  return Object.fromEntries(Object.entries<WitValue>(value).map(([name, part]) => [snakeCase(name), printWit(part)]));
}

const NO_BYTES = new Uint8Array(0);

// A record may be of another version, or its content collected: such a value is projected as empty.
export const text = (value: WitValue): string => (typeof value === "string" ? value : "");
export const bytes = (value: WitValue): Uint8Array => (value instanceof Uint8Array ? value : NO_BYTES);
export const bytesOrNull = (value: WitValue): Uint8Array | null => (value instanceof Uint8Array ? value : null);
export const flag = (value: WitValue): boolean => value === true;
export const count = (value: WitValue): number | bigint => (typeof value === "number" || typeof value === "bigint" ? value : 0);
export const items = (value: WitValue): readonly WitValue[] => (isList(value) ? value : []);
export const field = (value: WitValue, name: string): WitValue =>
  typeof value === "object" && !(value instanceof Uint8Array) && !isList(value) && Object.hasOwn(value, name) ? value[name] : undefined;
