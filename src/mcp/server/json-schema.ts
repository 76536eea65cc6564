// Owns: the types of arguments and results that follow from schemas.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, Frozen, Json } from "../../core/contract/index.ts";

type Flat<T> = { readonly [K in keyof T]: T[K] };

type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

type Properties<P, R> = Flat<
  { readonly [K in keyof P as K extends R ? K : never]: OfJsonSchema<P[K]> } & {
    readonly [K in keyof P as K extends R ? never : K]?: OfJsonSchema<P[K]>;
  }
>;

/** The type of values that are valid for a literal JSON Schema; `Json` where that cannot be expressed. */
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
                    ? JsonObject
                    : Json;

/** The arguments of a handler: the output of a Standard Schema, or the values that a JSON Schema allows. */
export type Arguments<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly properties: infer P }
    ? Properties<P, RequiredOf<S>>
    : JsonObject;

/** What a handler may return if its tool has an `output` schema. It may be read-only. */
export type Result<O> = O extends StandardSchemaV1 ? Frozen<StandardSchemaV1.InferInput<O>> : OfJsonSchema<O>;
