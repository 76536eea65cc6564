export type { Frozen } from "../contract/index.ts";
export { actor } from "./actor.ts";
export { type Blob, blob, content } from "./content.ts";
export type {
  Answers,
  Call,
  EndedArgs,
  FailedArgs,
  RawQuestion,
  ReplyArgs,
  RunContext,
  Send,
  SendOptions,
  Value,
  ViewContext,
  WakeOptions,
  WorkContext,
} from "./context-types.ts";
export type {
  ArgsOf,
  Availability,
  Definition,
  First,
  Kind,
  Link,
  Prompt,
  PromptArgument,
  PromptMessage,
  PromptValue,
  ReplyOf,
  Resource,
  Senders,
  StateOf,
  Tool,
  ToolAnnotations,
} from "./definition.ts";
export { elicit, type Elicited, type Question } from "./elicit.ts";
export type { Later } from "./later.ts";
export { actorId, keyOf } from "./names.ts";
export { type Random, seeded } from "./random.ts";
export { type Refusal, refuse } from "./refuse.ts";
export { type Root, type Roots, roots } from "./roots.ts";
export { type Sampled, type Sampling, sample } from "./sample.ts";
export { fromJsonSchema } from "./schema.ts";
