/** What passes between folders and is no public name: no subpath leads here. */
export { compareIds, isActorId, isAddress, keyIn, kindOf } from "./actor-id.ts";
export { capabilityNeeded, EXTENSION, isExtensionMethod } from "./client-capability.ts";
export { constantly, isConstant } from "./constant-surface.ts";
export { DEEPEST, freezeDeep } from "./freeze.ts";
export { type CommitEnds, type HandOver, handOverTo, promising } from "./hand-over.ts";
export { growthBy, SHORT_BYTES, textBytes } from "./growth.ts";
export { LATE, type MayBeLate, whenLate } from "./late.ts";
export { Listeners } from "./listeners.ts";
export { ANNOTATIONS, ARGUMENT, HINTS, ICONS, misfit, OBJECT, SIZE, TEXT, wrongInBlock } from "./mcp-shapes.ts";
export { checkMirrored, type Mirrored, mirroredIn } from "./mirrored.ts";
export { nearest } from "./nearest.ts";
export { checkNeeded, KINDS } from "./option-checks.ts";
export { put } from "./put.ts";
export { remembering } from "./remembering.ts";
export { checkScopes, isScope, lacking, lacksScopes, needsScopes, scopesOf, withScopes } from "./scopes.ts";
export { tellOf, told } from "./told.ts";
export { hasUriSigns } from "./uri-signs.ts";
export { vouch, vouchedFor, type Written } from "./vouch.ts";
