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
export type { ServerContext } from "./context.ts";
export type { Handling, Middleware } from "./middleware.ts";
export type { OnError, Run } from "./on-error.ts";
export type { Item } from "./item.ts";
export type { Arguments, OfJsonSchema, Result } from "./json-schema.ts";
export type { Doors, Listening, ListenOptions } from "./listen.ts";
export type { ServerOptions } from "./options.ts";
export type { PromptArgument, PromptDefinition, PromptHandler, Prompts, PromptValues } from "./prompts.ts";
export type { ResourceDefinition, ResourceHandler, Resources, Variables } from "./resources.ts";
export { createServer, type Server } from "./server.ts";
export type { Listed } from "./shelf.ts";
export type { ToolDefinition, ToolHandler, Tools } from "./tools.ts";
