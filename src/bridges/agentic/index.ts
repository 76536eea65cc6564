export { type Action, type AgenticService, agenticServices, type Observe, type State } from "./agentic-service.ts";
export { type AgenticSource, fromAgenticService } from "./from-agentic-service.ts";
export { isAgenticService } from "./agentic-service.ts";
export type { ActionOptions, AgenticServiceOptions } from "./options.ts";
export type { PerViewerOptions, ServiceFor } from "./per-viewer.ts";
export { toJSONSchema } from "./to-json-schema.ts";
export {
  type ActorRef,
  type VisibleAction,
  type VisibleActor,
  type VisibleSchema,
  type VisibleState,
  toAgenticService,
} from "./to-agentic-service.ts";
