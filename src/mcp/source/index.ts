export { type Schema, toJsonSchema } from "../../core/schema/index.ts";
export { type Address, addressOf, isByHandle } from "./actor-access.ts";
export { Acting, cast, type CastOptions } from "./cast.ts";
export { type Checked, checkJson, sameJson } from "./json.ts";
export { merge } from "./merge.ts";
export { meta } from "./meta.ts";
export { checkName, describeSource, joinName, type Names, type NameStyle, namesOf, withSegment } from "./names.ts";
export { changedLists, type Entry, hidesOffers, listed, type Lists, type ListMode } from "./lists.ts";
export { prefix } from "./prefix.ts";
export {
  type QuestionRequest,
  type Complete,
  type Definitions,
  type HandlerContext,
  type RegistryPrompt,
  type RegistryResource,
  type RegistryTool,
  tool,
} from "./registry-definitions.ts";
export { isOutcome, registry, type Registry, type RegistryOptions, Settled, settle } from "./registry.ts";
