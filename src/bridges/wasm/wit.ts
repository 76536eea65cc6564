// Owns: types and values of WIT, and comparing and printing the types of any component. Does not own: Theater's world (component/world.ts).
/** The WIT types that Theater's world uses. They are structural: named types are already resolved. */
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
  /** By name, in the order of the declaration. */
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
 * Every value can be posted to a worker.
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

export const isList = (value: WitValue): value is readonly WitValue[] => Array.isArray(value);

export const isRecord = (value: WitValue): value is Readonly<Record<string, WitValue>> =>
  typeof value === "object" && !isList(value) && !(value instanceof Uint8Array);

/** The type of a value in any component. `parts` holds its fields, cases or elements, in order. */
export interface TypeShape {
  /** The WIT keyword: `u32`, `list`, `record`. Any text for a type that Theater's world does not use and that has no parts. */
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

/** Its cost depends on the size of `wanted` only: the type found comes from an untrusted component and may be huge. */
function sameShape(wanted: TypeShape | undefined, found: TypeShape | undefined): boolean {
  if (wanted === undefined || found === undefined) return wanted === found;
  return (
    wanted.form === found.form &&
    wanted.parts.length === found.parts.length &&
    wanted.parts.every(([name, type], at) => name === found.parts[at]?.[0] && sameShape(type, found.parts[at][1]))
  );
}

/** Compares parameters by position: a call carries no names, and Theater itself does not compare them. */
export function sameSignature(wanted: Signature, found: Signature): boolean {
  return (
    wanted.params.length === found.params.length &&
    wanted.params.every(([, type], at) => sameShape(type, found.params[at]?.[1])) &&
    sameShape(wanted.result, found.result)
  );
}

/** The largest type of Theater's world fits. */
const MAX_CHARACTERS = 1_000;

/** Stops at the maximum: a type of a few bytes can expand to gigabytes of text. */
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

/** Prints a signature as in WIT: `func(state: option<list<u8>>) -> result<_, string>`. Records and enums are expanded. Truncated with `…` after 1,000 characters. */
export function printFunction({ params, result }: Signature): string {
  const text = new WitPrinter();
  text.list("func(", ")", params, ([name, type]) => {
    if (text.add(`${name}: `)) text.shape(type);
  });
  if (result !== undefined && text.add(" -> ")) text.shape(result);
  return text.text.length < MAX_CHARACTERS ? text.text : `${text.text.slice(0, MAX_CHARACTERS).toWellFormed()}…`;
}
