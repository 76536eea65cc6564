// Owns: a definition as the builder reads it: what authors write, without its inference. Does not own: what authors may write
// (definition.ts), checking it (validate-definition.ts).
import type { ActorId, ActorViewer, Json, JsonObject, Per, Policy, TaskSupport } from "../contract/index.ts";
import type { Refused, RunContext, ViewContext, WorkContext } from "./context.ts";
import type { Availability, InitialContext, LinkedKind, PromptArgument, RoleContext, UndoOptions } from "./definition.ts";
import type { Confirm } from "./questions.ts";

export type Enabled = (context: AnyOfferContext) => Availability;
export type Choices = Readonly<Record<string, (context: AnyOfferContext) => readonly string[]>>;

interface AnyOfferContext {
  readonly state: unknown;
  readonly viewer: ActorViewer;
}

export type AnyRole =
  | ((context: RoleContext) => unknown)
  | { readonly holds: (context: RoleContext) => unknown; readonly reason?: string | false };

/** The roles that an offer or a link is for. */
export type AllowedRoles = string | readonly string[];

/** A definition without inference: what the builder reads. */
export interface AnyDefinition extends Partial<Policy> {
  readonly description: string;
  readonly title?: string;
  readonly version?: number;
  readonly per?: Per;
  readonly autoStart?: boolean;
  readonly state?: object;
  readonly initial?: (context: InitialContext) => object;
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => object;
  readonly undo?: UndoOptions;
  readonly allow?: Readonly<Record<string, AnyRole>>;
  readonly links?: Readonly<Record<string, AnyLink>>;
  readonly tools?: Readonly<Record<string, AnyTool>>;
  readonly resources?: Readonly<Record<string, AnyResource>>;
  readonly prompts?: Readonly<Record<string, AnyPrompt>>;
  readonly messages?: Readonly<Record<string, AnyMessage>>;
  readonly replies?: Readonly<Record<string, AnyReply>>;
}

export interface AnyLink {
  readonly kind?: LinkedKind;
  readonly kinds?: readonly LinkedKind[];
  readonly allow?: AllowedRoles;
  readonly enabled?: Enabled;
  readonly to?: (context: AnyOfferContext) => ActorId | undefined;
  readonly by?: string;
  readonly choices?: (context: AnyOfferContext) => readonly string[];
}

interface AnyOffer {
  readonly title?: string;
  readonly allow?: AllowedRoles;
  readonly enabled?: Enabled;
  readonly choices?: Choices;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
  readonly scopes?: readonly string[];
}

interface AnyHandlers {
  run?(ctx: RunContext<object, unknown>): unknown;
  view?(context: ViewContext<unknown, unknown>): unknown;
  work?(ctx: WorkContext<object, unknown>): Promise<unknown>;
}

export interface AnyTool extends AnyOffer, AnyHandlers {
  readonly description: string;
  readonly input?: object;
  readonly output?: object;
  readonly annotations?: object;
  readonly secret?: readonly string[];
  readonly undo?: string | false;
  readonly confirm?: Confirm;
  readonly task?: TaskSupport;
}

export interface AnyResource extends AnyOffer {
  readonly name?: string;
  readonly uri: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly size?: number;
  readonly listed?: boolean;
  readonly reads?: readonly string[];
  view(context: ViewContext<unknown, unknown>): unknown;
}

export interface AnyPrompt extends AnyOffer {
  readonly description: string;
  readonly input?: object;
  readonly arguments?: readonly PromptArgument[];
  view(context: ViewContext<unknown, unknown>): unknown;
}

export interface AnyReply {
  readonly of: { readonly kind: string; readonly action: string };
  readonly input?: object;
  run(ctx: RunContext<object, unknown> & { readonly reply: Json }): unknown;
  refused?(ctx: RunContext<object, unknown> & { readonly refused: Refused }): unknown;
}

export interface AnyMessage extends AnyHandlers {
  readonly input?: object;
  readonly output?: object;
  readonly replies?: boolean;
  readonly secret?: readonly string[];
}
