export { assertPlain, checkSchema } from "./check-schema.ts";
export { compilerFor } from "./compiler.ts";
export {
  describeIssues,
  dottedPath,
  type Issue,
  issueOf,
  isStandard,
  judgesMisfits,
  listIssues,
  takesMisfits,
  WRAPPED,
} from "./standard.ts";
export { type Schema, toJsonSchema } from "./to-json-schema.ts";
