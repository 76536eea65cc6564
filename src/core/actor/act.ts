import type { OfferRef } from "../contract/index.ts";
import type { Choices, Confirm, When } from "./any-definition.ts";
import type { RunContext, ViewContext, WorkContext } from "./context-types.ts";
import type { Check } from "./schema.ts";

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
