export { assertPlain, checkSchema } from "./check-schema.ts";
export { compilerFor } from "./compiler.ts";
export { describeIssues, type Issue, issueOf, listIssues } from "./issues.ts";
export { judgesMisfits } from "./misfits.ts";
export { isStandard, takesMisfits, WRAPPED } from "./standard.ts";
export { type Schema, toJsonSchema } from "./to-json-schema.ts";
