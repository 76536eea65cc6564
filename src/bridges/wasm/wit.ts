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
