import type { WitValue } from "../wit.ts";
import { GuestTrap } from "./errors.ts";
import type { GuestMemory } from "./memory.ts";
import type { CoreValue } from "./webassembly.ts";

export type CoreType = "i32" | "i64" | "f64";

/** One type of WIT, compiled: how its values lie in a guest's memory, and how they are passed as core values. */
export interface Codec {
  readonly size: number;
  readonly align: number;
  /** The core values it takes when it is passed without memory. */
  readonly flat: readonly CoreType[];
  /** From an address that was checked for size and alignment. */
  load(memory: GuestMemory, at: number): WitValue;
  store(memory: GuestMemory, value: WitValue, at: number): void;
  /** From the core values that begin at that place. */
  lift(memory: GuestMemory, flat: readonly CoreValue[], at: number): WitValue;
  lower(memory: GuestMemory, value: WitValue, flat: CoreValue[], at: number): void;
}

export const roundUp = (offset: number, align: number): number => Math.ceil(offset / align) * align;

/** An i32 as it is passed, unsigned. */
export function u32At(flat: readonly CoreValue[], at: number): number {
  const value = flat[at];
  if (typeof value !== "number") throw new GuestTrap("A core function of the guest passes another type than the component says.");
  return value >>> 0;
}

/** The host's own mistake. It ends the call, since the guest cannot be told. */
export const unfit = (type: string): GuestTrap => new GuestTrap(`The host gave something else where the guest's world has ${type}.`);

export const isList = (value: WitValue): value is readonly WitValue[] => Array.isArray(value);

export const isRecord = (value: WitValue): value is Readonly<Record<string, WitValue>> =>
  typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
