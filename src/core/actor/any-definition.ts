import type { ActorId, Bag, Json, Per, Policy, TaskSupport, Viewer } from "../contract/index.ts";
import type { RunContext, ViewContext, WorkContext } from "./context-types.ts";
import type { Availability, First, PromptArgument } from "./definition.ts";

export type When = (state: unknown, viewer: Viewer) => Availability;
export type Choices = Readonly<Record<string, (state: unknown, viewer: Viewer) => readonly string[]>>;

/** A definition with its inference taken off: what the builder reads. */
export interface AnyDefinition extends Partial<Policy> {
  readonly describe: string;
  readonly title?: string;
  readonly version?: number;
  readonly per?: Per;
  readonly begins?: boolean;
  readonly state?: object;
  readonly initial?: (first: First) => object;
  readonly migrate?: (state: Json, from: number) => object;
  readonly links?: Readonly<
    Record<
      string,
      { readonly kinds: readonly string[]; readonly to: (state: unknown, viewer: Viewer) => ActorId | { readonly off: string } | undefined }
    >
  >;
  readonly tools?: Readonly<Record<string, AnyTool>>;
  readonly resources?: Readonly<Record<string, AnyResource>>;
  readonly prompts?: Readonly<Record<string, AnyPrompt>>;
  readonly messages?: Readonly<Record<string, AnyMessage>>;
}

interface AnyOffer {
  readonly title?: string;
  readonly when?: When;
  readonly choices?: Choices;
  readonly icons?: readonly Bag[];
  readonly meta?: Bag;
  readonly scopes?: readonly string[];
}

// Taken from a method: its parameters compare both ways, so every inferred definition is one of these.
export type Confirm = string | { ask(state: unknown, args: unknown, viewer: Viewer): string | undefined }["ask"];

interface AnyActs {
  run?(ctx: RunContext<object, unknown>): unknown;
  view?(state: unknown, ctx: ViewContext<unknown>): unknown;
  work?(ctx: WorkContext<object, unknown>): Promise<unknown>;
}

export interface AnyTool extends AnyOffer, AnyActs {
  readonly describe: string;
  readonly input?: object;
  readonly output?: object;
  readonly annotations?: object;
  readonly secret?: readonly string[];
  readonly confirm?: Confirm;
  readonly task?: TaskSupport;
}

export interface AnyResource extends AnyOffer {
  readonly name?: string;
  readonly uri: string;
  readonly describe?: string;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  readonly size?: number;
  readonly listed?: boolean;
  readonly reads?: readonly string[];
  view(state: unknown, ctx: ViewContext<unknown>): unknown;
}

export interface AnyPrompt extends AnyOffer {
  readonly describe: string;
  readonly input?: object;
  readonly arguments?: readonly PromptArgument[];
  view(state: unknown, ctx: ViewContext<unknown>): unknown;
}

export interface AnyMessage extends AnyActs {
  readonly input?: object;
  readonly output?: object;
  readonly replies?: boolean;
  readonly secret?: readonly string[];
}
