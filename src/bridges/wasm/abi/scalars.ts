import type { WitValue } from "../wit.ts";
import { type Codec, type CoreType, u32At, unfit } from "./codec.ts";
import { GuestTrap } from "./errors.ts";
import type { CoreValue } from "./webassembly.ts";

const I32: readonly CoreType[] = ["i32"];

function whole(value: WitValue, least: number, most: number, type: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) throw unfit(type);
  return value;
}

function u64(value: WitValue): bigint {
  if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value) throw unfit("u64");
  return value;
}

function f64(value: WitValue): number {
  if (typeof value !== "number") throw unfit("f64");
  return value;
}

function truth(value: WitValue): number {
  if (typeof value !== "boolean") throw unfit("bool");
  return value ? 1 : 0;
}

function bigintAt(flat: readonly CoreValue[], at: number): bigint {
  const value = flat[at];
  if (typeof value !== "bigint") throw new GuestTrap("A core function of the guest passes another type than the component says.");
  return BigInt.asUintN(64, value);
}

function floatAt(flat: readonly CoreValue[], at: number): number {
  const value = flat[at];
  if (typeof value !== "number") throw new GuestTrap("A core function of the guest passes another type than the component says.");
  return value;
}

export const SCALARS: Readonly<Record<"bool" | "u8" | "u16" | "u32" | "u64" | "s32" | "f64", Codec>> = {
  bool: {
    size: 1,
    align: 1,
    flat: I32,
    load: (memory, at) => memory.view.getUint8(at) !== 0,
    store: (memory, value, at) => memory.view.setUint8(at, truth(value)),
    lift: (_, flat, at) => u32At(flat, at) !== 0,
    lower: (_, value, flat, at) => void (flat[at] = truth(value)),
  },
  u8: {
    size: 1,
    align: 1,
    flat: I32,
    load: (memory, at) => memory.view.getUint8(at),
    store: (memory, value, at) => memory.view.setUint8(at, whole(value, 0, 0xff, "u8")),
    lift: (_, flat, at) => u32At(flat, at) & 0xff,
    lower: (_, value, flat, at) => void (flat[at] = whole(value, 0, 0xff, "u8")),
  },
  u16: {
    size: 2,
    align: 2,
    flat: I32,
    load: (memory, at) => memory.view.getUint16(at, true),
    store: (memory, value, at) => memory.view.setUint16(at, whole(value, 0, 0xffff, "u16"), true),
    lift: (_, flat, at) => u32At(flat, at) & 0xffff,
    lower: (_, value, flat, at) => void (flat[at] = whole(value, 0, 0xffff, "u16")),
  },
  u32: {
    size: 4,
    align: 4,
    flat: I32,
    load: (memory, at) => memory.view.getUint32(at, true),
    store: (memory, value, at) => memory.view.setUint32(at, whole(value, 0, 0xffffffff, "u32"), true),
    lift: (_, flat, at) => u32At(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = whole(value, 0, 0xffffffff, "u32")),
  },
  s32: {
    size: 4,
    align: 4,
    flat: I32,
    load: (memory, at) => memory.view.getInt32(at, true),
    store: (memory, value, at) => memory.view.setInt32(at, whole(value, -0x80000000, 0x7fffffff, "s32"), true),
    lift: (_, flat, at) => u32At(flat, at) | 0,
    lower: (_, value, flat, at) => void (flat[at] = whole(value, -0x80000000, 0x7fffffff, "s32")),
  },
  u64: {
    size: 8,
    align: 8,
    flat: ["i64"],
    load: (memory, at) => memory.view.getBigUint64(at, true),
    store: (memory, value, at) => memory.view.setBigUint64(at, u64(value), true),
    lift: (_, flat, at) => bigintAt(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = u64(value)),
  },
  f64: {
    size: 8,
    align: 8,
    flat: ["f64"],
    load: (memory, at) => memory.view.getFloat64(at, true),
    store: (memory, value, at) => memory.view.setFloat64(at, f64(value), true),
    lift: (_, flat, at) => floatAt(flat, at),
    lower: (_, value, flat, at) => void (flat[at] = f64(value)),
  },
};
