export { type Action, type AgenticService, agenticServices, isAgenticService, type Observe, type State } from "./agentic-service.ts";
export { type AgenticSource, fromAgenticService } from "./from-agentic-service.ts";
export type { ActionOptions, AgenticServiceOptions } from "./service-options.ts";
export type { PerViewerOptions, ServiceFor } from "./per-viewer.ts";
export {
  type ActorRef,
  toAgenticService,
  type VisibleAction,
  type VisibleActor,
  type VisibleSchema,
  type VisibleState,
} from "./to-agentic-service.ts";
export { toJSONSchema } from "./to-json-schema.ts";
