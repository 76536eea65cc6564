import type { WitType } from "../wit.ts";
import type { Codec } from "./codec.ts";
import { BYTES, listOf, TEXT } from "./lists.ts";
import { recordOf, tupleOf } from "./products.ts";
import { SCALARS } from "./scalars.ts";
import { enumOf, optionOf, resultOf, variantOf } from "./variants.ts";

/** A type's layout and its ways into and out of a guest. Costs more than a use of it: keep what it gives. */
export function codecOf(type: WitType): Codec {
  if (typeof type === "string") return type === "string" ? TEXT : SCALARS[type];
  if ("list" in type) return type.list === "u8" ? BYTES : listOf(codecOf(type.list));
  if ("option" in type) return optionOf(codecOf(type.option));
  if ("tuple" in type) return tupleOf(type.tuple.map(codecOf));
  if ("record" in type) return recordOf(mapped(type.record, codecOf));
  if ("enum" in type) return enumOf(type.enum);
  if ("variant" in type) return variantOf(mapped(type.variant, (payload) => (payload === null ? undefined : codecOf(payload))));
  const { ok, err } = type.result;
  return resultOf(ok && codecOf(ok), err && codecOf(err));
}

function mapped<A, B>(record: Readonly<Record<string, A>>, each: (value: A) => B): Readonly<Record<string, B>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, each(value)]));
}
