import type { WitValue } from "../wit.ts";
import { type Codec, isList, isRecord, roundUp, unfit } from "./codec.ts";
import type { GuestMemory } from "./memory.ts";

/** One part of a tuple or a record: where it lies in memory, and which core value is its first. */
interface Part {
  readonly name: string;
  readonly codec: Codec;
  readonly offset: number;
  readonly first: number;
}

type Each = (part: Part, index: number) => WitValue;

interface Shape {
  /** The parts' values together. */
  readonly join: (parts: readonly Part[], each: Each) => WitValue;
  /** One part's value; throws where the whole is something else. */
  readonly part: (value: WitValue, part: Part, index: number) => WitValue;
  readonly fits: (value: WitValue, count: number) => boolean;
  readonly type: string;
}

const TUPLE: Shape = {
  type: "a tuple",
  fits: (value, count) => isList(value) && value.length === count,
  part: (value, _, index) => (isList(value) ? value[index] : undefined),
  join: (parts, each) => parts.map(each),
};

const RECORD: Shape = {
  type: "a record",
  fits: (value) => isRecord(value),
  part: (value, { name }) => (isRecord(value) ? value[name] : undefined),
  join(parts, each) {
    const record: Record<string, WitValue> = {};
    for (const [index, part] of parts.entries()) record[part.name] = each(part, index);
    return record;
  },
};

export const tupleOf = (codecs: readonly Codec[]): Codec => productOf(TUPLE, Object.entries(codecs));

export const recordOf = (fields: Readonly<Record<string, Codec>>): Codec => productOf(RECORD, Object.entries(fields));

function productOf(shape: Shape, named: readonly (readonly [string, Codec])[]): Codec {
  const parts: Part[] = [];
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
  const write = (value: WitValue, one: (part: Part, value: WitValue) => void): void => {
    if (!shape.fits(value, parts.length)) throw unfit(shape.type);
    for (const [index, part] of parts.entries()) one(part, shape.part(value, part, index));
  };
  return {
    size: roundUp(end, align),
    align,
    flat: parts.flatMap(({ codec }) => codec.flat),
    load: (memory: GuestMemory, at) => shape.join(parts, ({ codec, offset }) => codec.load(memory, at + offset)),
    store: (memory, value, at) => write(value, ({ codec, offset }, part) => codec.store(memory, part, at + offset)),
    lift: (memory, flat, at) => shape.join(parts, ({ codec, first: from }) => codec.lift(memory, flat, at + from)),
    lower: (memory, value, flat, at) => write(value, ({ codec, first: from }, part) => codec.lower(memory, part, flat, at + from)),
  };
}
