export { type Draft, openDraft } from "./draft.ts";
export { frozenOf } from "./frozen-of.ts";
export { readOnly } from "./read-only.ts";
