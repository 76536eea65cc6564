import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Bag, Frozen, Json } from "../../core/contract/index.ts";

type Flat<T> = { readonly [K in keyof T]: T[K] };

type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

type Properties<P, R> = Flat<
  { readonly [K in keyof P as K extends R ? K : never]: OfJsonSchema<P[K]> } & {
    readonly [K in keyof P as K extends R ? never : K]?: OfJsonSchema<P[K]>;
  }
>;

/** What a JSON Schema written as a literal lets through, as far as its types tell; `Json` for the rest. */
export type OfJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: "string" }
      ? string
      : S extends { readonly type: "number" | "integer" }
        ? number
        : S extends { readonly type: "boolean" }
          ? boolean
          : S extends { readonly type: "null" }
            ? null
            : S extends { readonly type: "array"; readonly items: infer I }
              ? readonly OfJsonSchema<I>[]
              : S extends { readonly type: "array" }
                ? readonly Json[]
                : S extends { readonly properties: infer P }
                  ? Properties<P, RequiredOf<S>>
                  : S extends { readonly type: "object" }
                    ? Bag
                    : Json;

/** What a handler is given: what a Standard Schema made of the arguments, or what a JSON Schema let through. */
export type Arguments<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly properties: infer P }
    ? Properties<P, RequiredOf<S>>
    : Bag;

/** What a handler may give back where its tool has an `output`. Nobody writes to it: it may be read-only. */
export type Result<O> = O extends StandardSchemaV1 ? Frozen<StandardSchemaV1.InferInput<O>> : OfJsonSchema<O>;
