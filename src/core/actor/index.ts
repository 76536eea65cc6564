export type { Frozen } from "../contract/index.ts";
export { actor } from "./actor.ts";
export type { Address } from "./address.ts";
export type {
  Answers,
  Call,
  Create,
  CreateOptions,
  EndedArgs,
  FailedArgs,
  Forward,
  AnyRequest,
  Refused,
  RawQuestion,
  ReplyArgs,
  RunContext,
  Send,
  SendOptions,
  Value,
  ViewContext,
  WakeOptions,
  WorkContext,
} from "./context.ts";
export type {
  ArgsOf,
  Availability,
  Definition,
  InitialContext,
  Kind,
  KindTypes,
  Link,
  MessageRef,
  OfferContext,
  PerOf,
  Prompt,
  PromptArgument,
  PromptMessage,
  PromptValue,
  ReplyOf,
  Request,
  Resource,
  Role,
  RoleContext,
  Senders,
  StateOf,
  Tool,
  ToolAnnotations,
  ToolsOf,
} from "./definition.ts";
export { index, type IndexDefinition } from "./define-index.ts";
export { actorId, keyOf } from "./names.ts";
export { elicit, type Elicited, type Question, type Root, type Roots, roots, type Sampled, type Sampling, sample } from "./questions.ts";
export { type Random, seeded } from "./random.ts";
export { type Blob, blob, content, type Forwarded, type Later, type Refusal, refuse } from "./replies.ts";
export { hasClaim } from "./roles.ts";
export { fromJsonSchema } from "./schema.ts";
