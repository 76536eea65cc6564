import type { ActorId, Bag, Json, OfferRef, Per, Policy, Viewer } from "../contract/index.ts";
import type { RunContext, ViewContext, WorkContext } from "./context-types.ts";
import type { Availability, First, PromptArgument } from "./definition.ts";
import type { Check } from "./schema.ts";

type When = (state: unknown, viewer: Viewer) => Availability;
type Choices = Readonly<Record<string, (state: unknown, viewer: Viewer) => readonly string[]>>;

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
type Confirm = string | { ask(state: unknown, args: unknown, viewer: Viewer): string | undefined }["ask"];

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
}

export interface AnyResource extends AnyOffer {
  readonly name?: string;
  readonly uri: string;
  readonly describe?: string;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  readonly size?: number;
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
  readonly replies?: boolean;
  readonly secret?: readonly string[];
}

/** What an action is made of; what is absent is not asked for. */
interface Parts {
  readonly action: string;
  readonly does: Act["does"];
  readonly ref?: OfferRef | undefined;
  readonly when?: When | undefined;
  readonly choices?: Choices | undefined;
  readonly input?: Check | undefined;
  readonly output?: Check | undefined;
  readonly secret?: readonly string[] | undefined;
  readonly confirm?: Confirm | undefined;
  readonly replies?: boolean | undefined;
}

/**
 * One action, compiled: all that `receive` and `view` need to know of it. A class, so that all have one shape: where each had the
 * keys its author gave, every read of one was a search by name as soon as a process served a handful.
 */
export class Act {
  readonly action: string;
  /** Absent: a message, never on a surface. */
  readonly ref: OfferRef | undefined;
  readonly when: When | undefined;
  readonly choices: Choices | undefined;
  /** Absent: arguments pass as they are. */
  readonly input: Check | undefined;
  readonly output: Check | undefined;
  readonly secret: readonly string[] | undefined;
  readonly confirm: Confirm | undefined;
  /** A message that brings replies. */
  readonly replies: boolean;
  /** What a mistake in its reply is named by. */
  readonly replied: string;
  readonly does:
    | { readonly how: "run"; readonly run: (ctx: RunContext<object, unknown>) => unknown }
    | { readonly how: "view"; readonly view: (state: unknown, ctx: ViewContext<unknown>) => unknown }
    | { readonly how: "work"; readonly work: (ctx: WorkContext<object, unknown>) => Promise<unknown> };

  constructor({ action, ref, when, choices, input, output, secret, confirm, replies, does }: Parts) {
    this.action = action;
    this.ref = ref;
    this.when = when;
    this.choices = choices;
    this.input = input;
    this.output = output;
    this.secret = secret;
    this.confirm = confirm;
    this.replies = replies === true;
    this.replied = `What ${action} replied`;
    this.does = does;
  }
}
