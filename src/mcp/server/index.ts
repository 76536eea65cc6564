export {
  audio,
  blob,
  type Block,
  type BlockExtras,
  type Bytes,
  content,
  contents,
  embeddedResource,
  failure,
  image,
  message,
  messages,
  type ResourceContent,
  resourceLink,
  text,
} from "./content.ts";
export type { ServerContext, Handling, Middleware, OnError, Run } from "./handler.ts";
export type {
  Item,
  PromptArgument,
  PromptDefinition,
  PromptHandler,
  Prompts,
  PromptValues,
  ResourceDefinition,
  ResourceHandler,
  Resources,
  Variables,
  Listed,
  ToolDefinition,
  ToolHandler,
  Tools,
  Arguments,
  OfJsonSchema,
  Result,
} from "./registries.ts";
export { type ServerListeners, type Listening, type ListenOptions, createServer, type Server } from "./server.ts";
export type { ServerOptions } from "./options.ts";
export { type ActorFault, serveActors, type ServeActorsOptions, type ServedActors } from "./serve-actors.ts";
