export { type Address, addressOf, isByHandle } from "./access.ts";
export { Acting } from "./cast.ts";
export { cast, type CastOptions } from "./cast.ts";
export { merge } from "./merge.ts";
export { meta } from "./meta.ts";
export { checkName, dotted, joinName, type Names, strict } from "./names.ts";
export { changedLists, type Entry, hidesOffers, listed, type Lists, type Posture } from "./posture.ts";
export { prefix } from "./prefix.ts";
export { isOutcome, registry, type Registry, type RegistryOptions } from "./registry.ts";
export {
  type Complete,
  type Definitions,
  type RegistryPrompt,
  type RegistryResource,
  type RegistryTool,
  tool,
} from "./registry-definitions.ts";
export { type Asked, type HandlerContext } from "./registry-definitions.ts";
export { Settled, settle } from "./registry-result.ts";
export { sameJson } from "./json.ts";
export { type Checked, checkJson } from "./json.ts";
export { type Schema, toJsonSchema } from "../../core/schema/index.ts";
export { describeSource } from "./source-description.ts";
export { withSegment } from "./names.ts";
