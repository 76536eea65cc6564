import type { Codec, CoreType } from "./codec.ts";
import type { CoreValue } from "./webassembly.ts";

/** A payload without memory: among the core values that all cases share. */
export type Payload = Pick<Codec, "lift" | "lower">;

/** The core values that the cases of a variant share: i64 wherever two of them differ, since each fits into its bits. */
export function joined(flats: readonly (readonly CoreType[])[]): readonly CoreType[] {
  const shared: CoreType[] = [];
  for (const flat of flats) for (const [index, type] of flat.entries()) shared[index] = (shared[index] ?? type) === type ? type : "i64";
  return shared;
}

/** What a case does not use of them is zero. */
export function sharing(codec: Codec | undefined, shared: readonly CoreType[]): Payload {
  const own = codec?.flat ?? [];
  const rest = shared.slice(own.length).map((type) => (type === "i64" ? 0n : 0));
  const fill = (flat: CoreValue[], at: number): void => {
    for (const [index, zero] of rest.entries()) flat[at + own.length + index] = zero;
  };
  if (codec === undefined) return { lift: () => undefined, lower: (_memory, _value, flat, at) => fill(flat, at) };
  if (own.every((type, index) => type === shared[index]))
    return {
      lift: (memory, flat, at) => codec.lift(memory, flat, at),
      lower(memory, value, flat, at) {
        codec.lower(memory, value, flat, at);
        fill(flat, at);
      },
    };
  return {
    lift(memory, flat, at) {
      const narrow = own.map((type, index) => narrowed(flat[at + index] ?? 0, type));
      return codec.lift(memory, narrow, 0);
    },
    lower(memory, value, flat, at) {
      codec.lower(memory, value, flat, at);
      for (const [index, type] of own.entries()) if (shared[index] === "i64") flat[at + index] = widened(flat[at + index] ?? 0, type);
      fill(flat, at);
    },
  };
}

const bits = new DataView(new ArrayBuffer(8));

function narrowed(value: CoreValue, type: CoreType): CoreValue {
  if (typeof value !== "bigint" || type === "i64") return value;
  if (type === "i32") return Number(BigInt.asUintN(32, value));
  bits.setBigUint64(0, BigInt.asUintN(64, value));
  return bits.getFloat64(0);
}

function widened(value: CoreValue, type: CoreType): CoreValue {
  if (typeof value === "bigint") return value;
  if (type === "i32") return BigInt(value >>> 0);
  bits.setFloat64(0, value);
  return bits.getBigUint64(0);
}
