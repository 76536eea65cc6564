export { freezeDeep } from "./freeze.ts";
export { type Draft, openDraft } from "./draft.ts";
