// Owns: what a codec of the canonical ABI is, and codecs of scalars, strings and lists. Does not own: composed types (compound-codecs.ts).
import { utf8Of } from "../../../core/platform/index.ts";
import { isList, type WitValue } from "../wit.ts";
import { type CoreValue, GuestTrap } from "./webassembly.ts";
import type { GuestMemory, Allocation } from "./memory.ts";

export type CoreType = "i32" | "i64" | "f64";

/** The canonical ABI passes more core values than these through memory. */
export const MAX_FLAT_PARAMS = 16;
export const MAX_FLAT_RESULTS = 1;

/** Converts values of one WIT type to and from a guest's memory and core values. */
export interface Codec {
  readonly size: number;
  readonly align: number;
  /** The core values that represent it when it is passed without memory. */
  readonly flat: readonly CoreType[];
  /** `at`: an address that was checked for size and alignment. */
  load(memory: GuestMemory, at: number): WitValue;
  store(memory: GuestMemory, value: WitValue, at: number): void;
  /** `at`: the index of its first core value. */
  lift(memory: GuestMemory, flat: readonly CoreValue[], at: number): WitValue;
  lower(memory: GuestMemory, value: WitValue, flat: CoreValue[], at: number): void;
}

export const roundUp = (offset: number, align: number): number => Math.ceil(offset / align) * align;

const coreTypeError = (): GuestTrap => new GuestTrap("A core function of the guest passes another type than the component says.");

/** Reads an i32 as unsigned. */
export const u32At = (flat: readonly CoreValue[], at: number): number => numberAt(flat, at) >>> 0;

function numberAt(flat: readonly CoreValue[], at: number): number {
  const value = flat[at];
  if (typeof value !== "number") throw coreTypeError();
  return value;
}

function bigintAt(flat: readonly CoreValue[], at: number): bigint {
  const value = flat[at];
  if (typeof value !== "bigint") throw coreTypeError();
  return BigInt.asUintN(64, value);
}

/** The host passed a value of the wrong type. This ends the call, since the guest cannot handle it. */
export const hostTypeError = (type: string): GuestTrap =>
  new GuestTrap(`The host gave something else where the guest's world has ${type}.`);

const I32: readonly CoreType[] = ["i32"];

function checkedInteger(value: WitValue, least: number, most: number, type: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) throw hostTypeError(type);
  return value;
}

function checkedU64(value: WitValue): bigint {
  if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value) throw hostTypeError("u64");
  return value;
}

function checkedF64(value: WitValue): number {
  if (typeof value !== "number") throw hostTypeError("f64");
  return value;
}

function booleanBit(value: WitValue): number {
  if (typeof value !== "boolean") throw hostTypeError("bool");
  return value ? 1 : 0;
}

export const SCALARS: Readonly<Record<"bool" | "u8" | "u16" | "u32" | "u64" | "s32" | "f64", Codec>> = {
  bool: {
    size: 1,
    align: 1,
    flat: I32,
    load: (memory, at) => memory.view.getUint8(at) !== 0,
    store: (memory, value, at) => memory.view.setUint8(at, booleanBit(value)),
    lift: (_, flat, at) => u32At(flat, at) !== 0,
    lower: (_, value, flat, at) => void (flat[at] = booleanBit(value)),
  },
  u8: {
    size: 1,
    align: 1,
    flat: I32,
    load: (memory, at) => memory.view.getUint8(at),
    store: (memory, value, at) => memory.view.setUint8(at, checkedInteger(value, 0, 0xff, "u8")),
    lift: (_, flat, at) => u32At(flat, at) & 0xff,
    lower: (_, value, flat, at) => void (flat[at] = checkedInteger(value, 0, 0xff, "u8")),
  },
  u16: {
    size: 2,
    align: 2,
    flat: I32,
    load: (memory, at) => memory.view.getUint16(at, true),
    store: (memory, value, at) => memory.view.setUint16(at, checkedInteger(value, 0, 0xffff, "u16"), true),
    lift: (_, flat, at) => u32At(flat, at) & 0xffff,
    lower: (_, value, flat, at) => void (flat[at] = checkedInteger(value, 0, 0xffff, "u16")),
  },
  u32: {
    size: 4,
    align: 4,
    flat: I32,
    load: (memory, at) => memory.view.getUint32(at, true),
    store: (memory, value, at) => memory.view.setUint32(at, checkedInteger(value, 0, 0xffffffff, "u32"), true),
    lift: (_, flat, at) => u32At(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = checkedInteger(value, 0, 0xffffffff, "u32")),
  },
  s32: {
    size: 4,
    align: 4,
    flat: I32,
    load: (memory, at) => memory.view.getInt32(at, true),
    store: (memory, value, at) => memory.view.setInt32(at, checkedInteger(value, -0x80000000, 0x7fffffff, "s32"), true),
    lift: (_, flat, at) => u32At(flat, at) | 0,
    lower: (_, value, flat, at) => void (flat[at] = checkedInteger(value, -0x80000000, 0x7fffffff, "s32")),
  },
  u64: {
    size: 8,
    align: 8,
    flat: ["i64"],
    load: (memory, at) => memory.view.getBigUint64(at, true),
    store: (memory, value, at) => memory.view.setBigUint64(at, checkedU64(value), true),
    lift: (_, flat, at) => bigintAt(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = checkedU64(value)),
  },
  f64: {
    size: 8,
    align: 8,
    flat: ["f64"],
    load: (memory, at) => memory.view.getFloat64(at, true),
    store: (memory, value, at) => memory.view.setFloat64(at, checkedF64(value), true),
    lift: (_, flat, at) => numberAt(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = checkedF64(value)),
  },
};

/** The least that an element costs the host. A list of empty records takes no memory in the guest. */
const ELEMENT_BYTES = 16;
const FLAT: readonly CoreType[] = ["i32", "i32"];

export const BYTES: Codec = pointerAndLength(
  (memory, pointer, count) => memory.readBytes(pointer, count),
  (memory, value) => {
    if (!(value instanceof Uint8Array)) throw hostTypeError("list<u8>");
    return memory.write(value);
  },
);

export const TEXT: Codec = pointerAndLength(
  (memory, pointer, count) => memory.readText(pointer, count),
  (memory, value) => {
    if (typeof value !== "string") throw hostTypeError("string");
    return memory.write(utf8Of(value));
  },
);

export function listOf(element: Codec): Codec {
  const { size, align } = element;
  const cost = Math.max(size, ELEMENT_BYTES);
  return pointerAndLength(
    (memory, pointer, count) => {
      memory.check(pointer, count * size, align, "list");
      memory.budget.spend(count * cost);
      const values: WitValue[] = [];
      for (let index = 0; index < count; index += 1) values.push(element.load(memory, pointer + index * size));
      return values;
    },
    (memory, value) => {
      if (!isList(value)) throw hostTypeError("a list");
      memory.budget.spend(value.length * cost);
      const pointer = memory.allocate(value.length * size, align);
      for (const [index, one] of value.entries()) element.store(memory, one, pointer + index * size);
      return { pointer, count: value.length };
    },
  );
}

/** A codec for what is passed as an address and a length. */
function pointerAndLength(
  read: (memory: GuestMemory, pointer: number, count: number) => WitValue,
  put: (memory: GuestMemory, value: WitValue) => Allocation,
): Codec {
  return {
    size: 8,
    align: 4,
    flat: FLAT,
    load: (memory, at) => read(memory, memory.view.getUint32(at, true), memory.view.getUint32(at + 4, true)),
    store(memory, value, at) {
      const { pointer, count } = put(memory, value);
      memory.view.setUint32(at, pointer, true);
      memory.view.setUint32(at + 4, count, true);
    },
    lift: (memory, flat, at) => read(memory, u32At(flat, at), u32At(flat, at + 1)),
    lower(memory, value, flat, at) {
      const { pointer, count } = put(memory, value);
      flat[at] = pointer;
      flat[at + 1] = count;
    },
  };
}
