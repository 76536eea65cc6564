import type { Ajv } from "ajv";
import type { Ajv2019 } from "ajv/dist/2019.js";
import type { Ajv2020, Options } from "ajv/dist/2020.js";
import type { Bag } from "../contract/index.ts";
import { loadAjv, loadAjv2019, loadAjvDraft7 } from "../platform/index.ts";
import { dialectOf } from "./dialect.ts";
import { withKeywords } from "./keywords.ts";

// No meta-schema: schemas are checked where they are written, and compiling one costs 55 ms of start-up.
const OPTIONS: Options = { strict: false, validateFormats: false, ownProperties: true, meta: false, validateSchema: false, logger: false };

/** What compiles this schema, in the dialect it names or else 2020-12: one of its own, since one for all would keep every schema, and their `$id`s would meet. */
export function compilerFor(schema: Bag, options?: Options): Ajv | Ajv2019 | Ajv2020 {
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
