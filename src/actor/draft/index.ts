export { type Draft, openDraft } from "./draft.ts";
