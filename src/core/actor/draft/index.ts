export { type Draft, openDraft } from "./draft.ts";
export { frozenOf, readOnly } from "./read-only.ts";
