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
export type { ServerContext } from "./handler.ts";
export type { Handling, Middleware } from "./handler.ts";
export type { OnError, Run } from "./handler.ts";
export type { Item } from "./registries.ts";
export type { Arguments, OfJsonSchema, Result } from "./json-schema.ts";
export type { ServerListeners, Listening, ListenOptions } from "./listen.ts";
export type { ServerOptions } from "./options.ts";
export type { PromptArgument, PromptDefinition, PromptHandler, Prompts, PromptValues } from "./registries.ts";
export type { ResourceDefinition, ResourceHandler, Resources, Variables } from "./registries.ts";
export { createServer, type Server } from "./server.ts";
export type { Listed } from "./registries.ts";
export type { ToolDefinition, ToolHandler, Tools } from "./registries.ts";
export { type ActorFault, serveActors, type ServeActorsOptions, type ServedActors } from "./serve-actors.ts";
