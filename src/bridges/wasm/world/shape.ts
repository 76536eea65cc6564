import type { WitFunction, WitType } from "../wit.ts";

/** A type as any component may have it, Theater's or not. `parts`: fields, cases, elements, in order. */
export interface Shape {
  /** WIT's own word: `u32`, `list`, `record`; of what has no parts and no equal here, any text. */
  readonly form: string;
  readonly parts: readonly (readonly [name: string, type: Shape | undefined])[];
}

export interface Signature {
  readonly params: readonly (readonly [name: string, type: Shape])[];
  readonly result?: Shape;
}

export const plain = (form: string): Shape => ({ form, parts: [] });

const named = (types: Readonly<Record<string, WitType | null>>): Shape["parts"] =>
  Object.entries(types).map(([name, type]) => [name, type === null ? undefined : shapeOf(type)]);

export function shapeOf(type: WitType): Shape {
  if (typeof type === "string") return plain(type);
  if ("list" in type) return { form: "list", parts: [["", shapeOf(type.list)]] };
  if ("option" in type) return { form: "option", parts: [["", shapeOf(type.option)]] };
  if ("tuple" in type) return { form: "tuple", parts: type.tuple.map((part) => ["", shapeOf(part)]) };
  if ("record" in type) return { form: "record", parts: named(type.record) };
  if ("variant" in type) return { form: "variant", parts: named(type.variant) };
  if ("enum" in type) return { form: "enum", parts: type.enum.map((name) => [name, undefined]) };
  return { form: "result", parts: named({ ok: type.result.ok ?? null, err: type.result.err ?? null }) };
}

export const signatureOf = ({ params, result }: WitFunction): Signature => ({
  params: Object.entries(params).map(([name, type]) => [name, shapeOf(type)]),
  ...(result === undefined ? {} : { result: shapeOf(result) }),
});

/** Takes as long as `wanted` is large, however large what was found is. */
function sameShape(wanted: Shape | undefined, found: Shape | undefined): boolean {
  if (wanted === undefined || found === undefined) return wanted === found;
  return (
    wanted.form === found.form &&
    wanted.parts.length === found.parts.length &&
    wanted.parts.every(([name, type], at) => name === found.parts[at]?.[0] && sameShape(type, found.parts[at][1]))
  );
}

/** Parameters count by their order: their names are not in what is called, and upstream never compares them. */
export function sameSignature(wanted: Signature, found: Signature): boolean {
  return (
    wanted.params.length === found.params.length &&
    wanted.params.every(([, type], at) => sameShape(type, found.params[at]?.[1])) &&
    sameShape(wanted.result, found.result)
  );
}
