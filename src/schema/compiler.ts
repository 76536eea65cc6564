import type { Ajv } from "ajv";
import type { Ajv2020, Options } from "ajv/dist/2020.js";
import type { Bag } from "../contract/index.ts";
import { loadAjv, loadAjvDraft7 } from "../platform/index.ts";
import { isOfOldDialect } from "./dialect.ts";
import { withUniqueItems } from "./unique-items.ts";

// No meta-schema: schemas are checked where they are written, and compiling one costs 55 ms of start-up.
const OPTIONS: Options = { strict: false, validateFormats: false, meta: false, validateSchema: false, logger: false };

/** What compiles this schema, in the dialect it names or else 2020-12: one of its own, since one for all would keep every schema, and their `$id`s would meet. */
export function compilerFor(schema: Bag, options?: Options): Ajv | Ajv2020 {
  const Compiler = isOfOldDialect(schema) ? loadAjvDraft7() : loadAjv();
  return withUniqueItems(new Compiler({ ...OPTIONS, ...options }));
}
