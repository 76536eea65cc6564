// Owns: codecs of tuples, records and variants, and the codec of any WIT type (`codecOf`).
import { isList, isRecord, type WitType, type WitValue } from "../wit.ts";
import { BYTES, type Codec, type CoreType, listOf, roundUp, SCALARS, TEXT, u32At, hostTypeError } from "./codec.ts";
import type { GuestMemory } from "./memory.ts";
import { type CoreValue, GuestTrap } from "./webassembly.ts";

/** A field of a tuple or record, with its offset in memory and the index of its first core value. */
interface Field {
  readonly name: string;
  readonly codec: Codec;
  readonly offset: number;
  readonly first: number;
}

type Each = (part: Field, index: number) => WitValue;

interface ProductType {
  /** Builds the value from those of its fields. */
  readonly assemble: (parts: readonly Field[], each: Each) => WitValue;
  /** The value of one field. */
  readonly fieldOf: (value: WitValue, part: Field, index: number) => WitValue;
  readonly fits: (value: WitValue, count: number) => boolean;
  readonly type: string;
}

const TUPLE: ProductType = {
  type: "a tuple",
  fits: (value, count) => isList(value) && value.length === count,
  fieldOf: (value, _, index) => (isList(value) ? value[index] : undefined),
  assemble: (parts, each) => parts.map(each),
};

const RECORD: ProductType = {
  type: "a record",
  fits: (value) => isRecord(value),
  fieldOf: (value, { name }) => (isRecord(value) ? value[name] : undefined),
  assemble(parts, each) {
    const record: Record<string, WitValue> = {};
    for (const [index, part] of parts.entries()) record[part.name] = each(part, index);
    return record;
  },
};

export const tupleOf = (codecs: readonly Codec[]): Codec => productOf(TUPLE, Object.entries(codecs));

const recordOf = (fields: Readonly<Record<string, Codec>>): Codec => productOf(RECORD, Object.entries(fields));

function productOf(shape: ProductType, named: readonly (readonly [string, Codec])[]): Codec {
  const parts: Field[] = [];
  let end = 0;
  let first = 0;
  let align = 1;
  for (const [name, codec] of named) {
    const offset = roundUp(end, codec.align);
    parts.push({ name, codec, offset, first });
    end = offset + codec.size;
    first += codec.flat.length;
    align = Math.max(align, codec.align);
  }
  const write = (value: WitValue, one: (part: Field, value: WitValue) => void): void => {
    if (!shape.fits(value, parts.length)) throw hostTypeError(shape.type);
    for (const [index, part] of parts.entries()) one(part, shape.fieldOf(value, part, index));
  };
  return {
    size: roundUp(end, align),
    align,
    flat: parts.flatMap(({ codec }) => codec.flat),
    load: (memory: GuestMemory, at) => shape.assemble(parts, ({ codec, offset }) => codec.load(memory, at + offset)),
    store: (memory, value, at) => write(value, ({ codec, offset }, part) => codec.store(memory, part, at + offset)),
    lift: (memory, flat, at) => shape.assemble(parts, ({ codec, first: from }) => codec.lift(memory, flat, at + from)),
    lower: (memory, value, flat, at) => write(value, ({ codec, first: from }, part) => codec.lower(memory, part, flat, at + from)),
  };
}

/** Lifts and lowers a payload among the core values that all cases share. */
type FlatCodec = Pick<Codec, "lift" | "lower">;

/** The core types that all cases share ("join" in the canonical ABI): i64 where two differ, since any core value fits into its bits. */
function joinedTypes(flats: readonly (readonly CoreType[])[]): readonly CoreType[] {
  const shared: CoreType[] = [];
  for (const flat of flats) for (const [index, type] of flat.entries()) shared[index] = (shared[index] ?? type) === type ? type : "i64";
  return shared;
}

/** A codec for one case. It fills the shared core values that the case does not use with zero. */
function payloadCodec(codec: Codec | undefined, shared: readonly CoreType[]): FlatCodec {
  const types = codec?.flat ?? [];
  const rest = shared.slice(types.length).map((type) => (type === "i64" ? 0n : 0));
  const fill = (flat: CoreValue[], at: number): void => {
    for (const [index, zero] of rest.entries()) flat[at + types.length + index] = zero;
  };
  if (codec === undefined) return { lift: () => undefined, lower: (_memory, _value, flat, at) => fill(flat, at) };
  if (types.every((type, index) => type === shared[index]))
    return {
      lift: (memory, flat, at) => codec.lift(memory, flat, at),
      lower(memory, value, flat, at) {
        codec.lower(memory, value, flat, at);
        fill(flat, at);
      },
    };
  return {
    lift(memory, flat, at) {
      const narrow = types.map((type, index) => narrowed(flat[at + index] ?? 0, type));
      return codec.lift(memory, narrow, 0);
    },
    lower(memory, value, flat, at) {
      codec.lower(memory, value, flat, at);
      for (const [index, type] of types.entries()) if (shared[index] === "i64") flat[at + index] = widened(flat[at + index] ?? 0, type);
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

/** A case: the codec of its payload, and building its value. */
interface Case {
  readonly codec?: Codec | undefined;
  readonly wrap: (payload: WitValue) => WitValue;
}

interface VariantType {
  /** The WIT keyword, for errors. */
  readonly type: string;
  readonly cases: readonly Case[];
  /** The index of the value's case; negative if it has none. */
  readonly caseIndex: (value: WitValue) => number;
  readonly payload: (value: WitValue, which: number) => WitValue;
}

function optionOf(some: Codec): Codec {
  return variantCodec({
    type: "option",
    cases: [{ wrap: () => undefined }, { codec: some, wrap: (payload) => payload }],
    caseIndex: (value) => (value === undefined ? 0 : 1),
    payload: (value) => value,
  });
}

function resultOf(ok: Codec | undefined, err: Codec | undefined): Codec {
  return variantCodec({
    type: "result",
    cases: [
      { codec: ok, wrap: (payload) => ({ ok: payload }) },
      { codec: err, wrap: (payload) => ({ err: payload }) },
    ],
    caseIndex: (value) => (!isRecord(value) ? -1 : "err" in value ? 1 : "ok" in value ? 0 : -1),
    payload: (value, which) => (isRecord(value) ? value[which === 0 ? "ok" : "err"] : undefined),
  });
}

function enumOf(names: readonly string[]): Codec {
  return variantCodec({
    type: "enum",
    cases: names.map((name) => ({ wrap: () => name })),
    caseIndex: (value) => (typeof value === "string" ? names.indexOf(value) : -1),
    payload: () => undefined,
  });
}

function variantOf(cases: Readonly<Record<string, Codec | undefined>>): Codec {
  const names = Object.keys(cases);
  return variantCodec({
    type: "variant",
    cases: Object.entries(cases).map(([name, codec]) => ({ codec, wrap: (payload) => ({ [name]: payload }) })),
    caseIndex: (value) => (isRecord(value) ? names.findIndex((name) => Object.hasOwn(value, name)) : -1),
    payload: (value, which) => (isRecord(value) ? value[names[which] ?? ""] : undefined),
  });
}

function variantCodec({ type, cases, caseIndex, payload }: VariantType): Codec {
  const tag = cases.length <= 0x100 ? 1 : cases.length <= 0x10000 ? 2 : 4;
  const align = Math.max(tag, ...cases.map(({ codec }) => codec?.align ?? 1));
  const offset = roundUp(tag, Math.max(1, ...cases.map(({ codec }) => codec?.align ?? 1)));
  const size = roundUp(offset + Math.max(0, ...cases.map(({ codec }) => codec?.size ?? 0)), align);
  const shared: readonly CoreType[] = joinedTypes(cases.map(({ codec }) => codec?.flat ?? []));
  const allCases = cases.map((one) => ({ ...one, passed: payloadCodec(one.codec, shared) }));
  const caseAt = (index: number): (typeof allCases)[number] => {
    const one = allCases[index];
    if (one === undefined) throw new GuestTrap(`The guest gave case ${index} of a type ${type} that has ${cases.length}.`);
    return one;
  };
  const indexOf = (value: WitValue): number => {
    const index = caseIndex(value);
    if (index < 0) throw hostTypeError(type);
    return index;
  };
  return {
    size,
    align,
    flat: ["i32", ...shared],
    load(memory, at) {
      const { codec, wrap } = caseAt(readTag(memory, at, tag));
      return wrap(codec?.load(memory, at + offset));
    },
    store(memory, value, at) {
      const index = indexOf(value);
      writeTag(memory, at, tag, index);
      caseAt(index).codec?.store(memory, payload(value, index), at + offset);
    },
    lift(memory, flat, at) {
      const { passed, wrap } = caseAt(u32At(flat, at));
      return wrap(passed.lift(memory, flat, at + 1));
    },
    lower(memory, value, flat, at) {
      const index = indexOf(value);
      flat[at] = index;
      caseAt(index).passed.lower(memory, payload(value, index), flat, at + 1);
    },
  };
}

function readTag({ view }: GuestMemory, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  return bytes === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
}

function writeTag({ view }: GuestMemory, at: number, bytes: number, index: number): void {
  if (bytes === 1) view.setUint8(at, index);
  else if (bytes === 2) view.setUint16(at, index, true);
  else view.setUint32(at, index, true);
}

/** Compiles a WIT type to a codec. Slower than using the codec: cache the result. */
export function codecOf(type: WitType): Codec {
  if (typeof type === "string") return type === "string" ? TEXT : SCALARS[type];
  if ("list" in type) return type.list === "u8" ? BYTES : listOf(codecOf(type.list));
  if ("option" in type) return optionOf(codecOf(type.option));
  if ("tuple" in type) return tupleOf(type.tuple.map(codecOf));
  if ("record" in type) return recordOf(mapValues(type.record, codecOf));
  if ("enum" in type) return enumOf(type.enum);
  if ("variant" in type) return variantOf(mapValues(type.variant, (payload) => (payload === null ? undefined : codecOf(payload))));
  const { ok, err } = type.result;
  return resultOf(ok && codecOf(ok), err && codecOf(err));
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, each: (value: A) => B): Readonly<Record<string, B>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, each(value)]));
}
