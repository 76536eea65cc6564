/** Types of WIT, as far as Theater's world needs them: structural, names of types resolved. */
export type WitType =
  | "bool"
  | "u8"
  | "u16"
  | "u32"
  | "u64"
  | "s32"
  | "f64"
  | "string"
  | { readonly list: WitType }
  | { readonly option: WitType }
  | { readonly tuple: readonly WitType[] }
  | { readonly result: { readonly ok?: WitType; readonly err?: WitType } }
  | { readonly record: Readonly<Record<string, WitType>> }
  | { readonly enum: readonly string[] }
  | { readonly variant: Readonly<Record<string, WitType | null>> };

/** The signature of a function in WIT. */
export interface WitFunction {
  /** By name, in order. */
  readonly params: Readonly<Record<string, WitType>>;
  readonly result?: WitType;
}

/**
 * | WIT | value |
 * |---|---|
 * | u64 | bigint; other numbers: number |
 * | list<u8> | Uint8Array, other lists: an array |
 * | option | the value, or undefined |
 * | tuple | an array |
 * | result | `{ ok }` or `{ err }` |
 * | record | an object, by WIT's own names (`event-type`) |
 * | enum | its case; variant: an object of its one case |
 *
 * All of it can be sent to a worker.
 */
export type WitValue =
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly WitValue[]
  | { readonly [name: string]: WitValue };

/** A type as any component may have it, Theater's or not. `parts`: fields, cases, elements, in order. */
export interface TypeShape {
  /** WIT's own word: `u32`, `list`, `record`; of what has no parts and no equal here, any text. */
  readonly form: string;
  readonly parts: readonly (readonly [name: string, type: TypeShape | undefined])[];
}

export interface Signature {
  readonly params: readonly (readonly [name: string, type: TypeShape])[];
  readonly result?: TypeShape;
}

export const simpleShape = (form: string): TypeShape => ({ form, parts: [] });

const namedParts = (types: Readonly<Record<string, WitType | null>>): TypeShape["parts"] =>
  Object.entries(types).map(([name, type]) => [name, type === null ? undefined : shapeOf(type)]);

export function shapeOf(type: WitType): TypeShape {
  if (typeof type === "string") return simpleShape(type);
  if ("list" in type) return { form: "list", parts: [["", shapeOf(type.list)]] };
  if ("option" in type) return { form: "option", parts: [["", shapeOf(type.option)]] };
  if ("tuple" in type) return { form: "tuple", parts: type.tuple.map((part) => ["", shapeOf(part)]) };
  if ("record" in type) return { form: "record", parts: namedParts(type.record) };
  if ("variant" in type) return { form: "variant", parts: namedParts(type.variant) };
  if ("enum" in type) return { form: "enum", parts: type.enum.map((name) => [name, undefined]) };
  return { form: "result", parts: namedParts({ ok: type.result.ok ?? null, err: type.result.err ?? null }) };
}

export const signatureOf = ({ params, result }: WitFunction): Signature => ({
  params: Object.entries(params).map(([name, type]) => [name, shapeOf(type)]),
  ...(result === undefined ? {} : { result: shapeOf(result) }),
});

/** Takes as long as `wanted` is large, however large what was found is. */
function sameShape(wanted: TypeShape | undefined, found: TypeShape | undefined): boolean {
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

/** Enough for the largest type of Theater's world, printed whole. */
const MAX_CHARACTERS = 1_000;

/** Stops where it has printed enough: a type of a few bytes may stand for one of gigabytes. */
class WitPrinter {
  text = "";

  add(part: string): boolean {
    if (this.text.length < MAX_CHARACTERS) this.text += part;
    return this.text.length < MAX_CHARACTERS;
  }

  list(open: string, close: string, parts: TypeShape["parts"], part: (part: TypeShape["parts"][number]) => void): void {
    this.add(open);
    for (const [at, each] of parts.entries()) {
      if (!this.add(at === 0 ? "" : ", ")) break;
      part(each);
    }
    this.add(close);
  }

  shape(shape: TypeShape | undefined): void {
    if (shape === undefined) this.add("_");
    else if (shape.form === "record")
      this.list("record { ", " }", shape.parts, ([name, type]) => {
        if (this.add(`${name}: `)) this.shape(type);
      });
    else if (shape.form === "enum" || shape.form === "flags")
      this.list(`${shape.form} { `, " }", shape.parts, ([name]) => void this.add(name));
    else if (shape.form === "variant")
      this.list("variant { ", " }", shape.parts, ([name, type]) => {
        if (this.add(name) && type !== undefined) this.list("(", ")", [["", type]], ([, inner]) => this.shape(inner));
      });
    else if (shape.form === "result") this.result(shape.parts[0]?.[1], shape.parts[1]?.[1]);
    else if (shape.parts.length === 0) this.add(shape.form);
    else
      this.list(`${shape.form}<`, ">", shape.parts, ([, type]) => {
        if (this.text.length < MAX_CHARACTERS) this.shape(type);
      });
  }

  result(ok: TypeShape | undefined, err: TypeShape | undefined): void {
    if (ok === undefined && err === undefined) this.add("result");
    else if (this.add("result<")) {
      this.shape(ok);
      if (err !== undefined && this.add(", ")) this.shape(err);
      this.add(">");
    }
  }
}

/** As WIT has it, `func(state: option<list<u8>>) -> result<_, string>`, records and enums written out; cut off with `…` after 1,000 characters. */
export function printFunction({ params, result }: Signature): string {
  const text = new WitPrinter();
  text.list("func(", ")", params, ([name, type]) => {
    if (text.add(`${name}: `)) text.shape(type);
  });
  if (result !== undefined && text.add(" -> ")) text.shape(result);
  return text.text.length < MAX_CHARACTERS ? text.text : `${text.text.slice(0, MAX_CHARACTERS).toWellFormed()}…`;
}
