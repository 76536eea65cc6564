export { assertPlain, checkSchema } from "./check-schema.ts";
export { compilerFor } from "./compiler.ts";
export { isStandard, pathOf } from "./standard.ts";
export { type Schema, toJsonSchema } from "./to-json-schema.ts";
