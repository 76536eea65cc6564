// Owns: compilers of JSON Schema, one per dialect, and the keywords that replace Ajv's. Does not own: checking schemas (check-schema.ts).
import type { Ajv } from "ajv";
import type { Ajv2019 } from "ajv/dist/2019.js";
import type { Ajv2020, Options } from "ajv/dist/2020.js";
import type { JsonObject, Json } from "../contract/index.ts";
import { canonical } from "../contract/internal.ts";
import { loadAjv, loadAjv2019, loadAjvDraft7 } from "../platform/index.ts";
import { dialectOf } from "./check-schema.ts";

// No meta-schema: schemas are checked where they are written, and compiling one costs 55 ms of start-up.
const OPTIONS: Options = { strict: false, validateFormats: false, ownProperties: true, meta: false, validateSchema: false, logger: false };

/**
 * A new compiler, for the dialect that the schema names or else 2020-12. Each schema has its own: a shared one would retain every schema,
 * and equal `$id`s would collide.
 */
export function compilerFor(schema: JsonObject, options?: Options): Ajv | Ajv2019 | Ajv2020 {
  const given = { ...OPTIONS, ...options };
  switch (dialectOf(schema)) {
    case "draft-04":
      // Draft 7 with draft 4's own keywords: Ajv has no draft 4.
      return withKeywords(new (loadAjvDraft7())({ ...given, schemaId: "id" }), "draft-04");
    case "draft-07":
      return withKeywords(new (loadAjvDraft7())(given));
    case "2019-09":
      return withKeywords(new (loadAjv2019())(given));
    default:
      return withKeywords(new (loadAjv())(given));
  }
}

interface KeywordError {
  readonly keyword: string;
  readonly message: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Check<V> {
  (value: V): boolean;
  errors?: KeywordError[];
}

interface Definition<T extends "array" | "number", S extends "boolean" | "number", Value, Given> {
  readonly keyword: string;
  readonly type: T;
  readonly schemaType: S;
  readonly errors: true;
  readonly compile: (given: Given, schema: JsonObject) => Check<Value>;
}

interface Compiler {
  removeKeyword(keyword: string): unknown;
  addKeyword(
    definition: Definition<"array", "boolean", readonly Json[], boolean> | Definition<"number", "number", number, number>,
  ): unknown;
}

/** Replaces the keywords that Ajv checks too slowly, wrongly, or not at all. */
export function withKeywords<C extends Compiler>(compiler: C, dialect?: "draft-04"): C {
  // Ajv refuses every schema that contains `id`, which has a meaning in draft 4 only; there the option `schemaId` reads it.
  for (const keyword of ["id", "uniqueItems", "multipleOf"]) compiler.removeKeyword(keyword);
  compiler.addKeyword({ keyword: "uniqueItems", type: "array", schemaType: "boolean", errors: true, compile: uniqueItems });
  compiler.addKeyword({ keyword: "multipleOf", type: "number", schemaType: "number", errors: true, compile: multipleOf });
  if (dialect !== "draft-04") return compiler;
  for (const keyword of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) compiler.removeKeyword(keyword);
  compiler.addKeyword({ keyword: "minimum", type: "number", schemaType: "number", errors: true, compile: minimum });
  compiler.addKeyword({ keyword: "maximum", type: "number", schemaType: "number", errors: true, compile: maximum });
  return compiler;
}

/** A check with a single error. */
function failing(
  keyword: string,
  message: string,
  params: Readonly<Record<string, unknown>>,
  fits: (value: number) => boolean,
): Check<number> {
  const check: Check<number> = (value) => {
    if (fits(value)) return true;
    check.errors = [{ keyword, message, params }];
    return false;
  };
  return check;
}

/** In draft 4, `exclusiveMinimum` is a flag next to the limit. */
function minimum(limit: number, { exclusiveMinimum: exclusive }: JsonObject): Check<number> {
  const comparison = exclusive === true ? ">" : ">=";
  const fits = exclusive === true ? (value: number) => value > limit : (value: number) => value >= limit;
  return failing("minimum", `must be ${comparison} ${limit}`, { comparison, limit }, fits);
}

function maximum(limit: number, { exclusiveMaximum: exclusive }: JsonObject): Check<number> {
  const comparison = exclusive === true ? "<" : "<=";
  const fits = exclusive === true ? (value: number) => value < limit : (value: number) => value <= limit;
  return failing("maximum", `must be ${comparison} ${limit}`, { comparison, limit }, fits);
}

/**
 * Computed in decimal, as JSON writes numbers: 19.99 is a multiple of 0.01, but as doubles their quotient is 1998.9999999999998. Ajv's own
 * option, a tolerance, accepts values that are no multiples: any number if the factor is large.
 */
function multipleOf(factor: number): Check<number> {
  return failing("multipleOf", `must be multiple of ${factor}`, { multipleOf: factor }, multiplesOf(factor));
}

// A factor has at most 17 digits, so at most 56 prime factors 2 and 24 prime factors 5: a higher power of ten is divisible by nothing more.
const MAX_TENS = 57;

function multiplesOf(factor: number): (value: number) => boolean {
  const divisor = decimalOf(factor);
  if (divisor === undefined || divisor.digits === 0n) return () => false;
  const isWhole = Number.isSafeInteger(factor);
  return (value) => {
    if (isWhole && Number.isSafeInteger(value)) return value % factor === 0;
    const dividend = decimalOf(value);
    if (dividend === undefined) return false;
    if (dividend.digits === 0n) return true;
    const tens = dividend.tens - divisor.tens;
    // The divisor's digits do not end in zero, so no power of ten divides them.
    return tens >= 0 && (dividend.digits * 10n ** BigInt(Math.min(tens, MAX_TENS))) % divisor.digits === 0n;
  };
}

/** The shortest decimal number that is read as this double: `digits` times ten to the power of `tens`. */
function decimalOf(value: number): { readonly digits: bigint; readonly tens: number } | undefined {
  const parts = /^-?(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential());
  if (parts === null) return undefined;
  const [, first = "", rest = "", exponent] = parts;
  return { digits: BigInt(first + rest), tens: Number(exponent) - rest.length };
}

/**
 * Takes linear time. Ajv's own check compares each object with every other: a client that may send a hundred thousand of them could block
 * the process for minutes.
 */
function uniqueItems(isRequired: boolean): Check<readonly Json[]> {
  if (!isRequired) return () => true;
  const check: Check<readonly Json[]> = (items) => {
    const places = new Map<string, number>();
    for (const [j, item] of items.entries()) {
      const text = canonical(item);
      const i = places.get(text);
      if (i !== undefined) {
        const message = `must NOT have duplicate items (items ## ${i} and ${j} are identical)`;
        check.errors = [{ keyword: "uniqueItems", message, params: { i, j } }];
        return false;
      }
      places.set(text, j);
    }
    return true;
  };
  return check;
}
