export type { Action, AgenticService, Observe, State } from "./agentic-service.ts";
export { type AgenticServiceOptions, type AgenticSource, fromAgenticService } from "./from-agentic-service.ts";
export { isAgenticService } from "./is-agentic-service.ts";
export { toJSONSchema } from "./to-json-schema.ts";
