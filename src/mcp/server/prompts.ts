import type { Complete, Registry } from "../source/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { ServerContext, Surroundings } from "./context.ts";
import { checkDefinition } from "./definition-check.ts";
import { handling } from "./handling.ts";
import { completing, describedBy, type Item } from "./item.ts";
import { Shelf } from "./shelf.ts";

/** An argument as MCP lists it; its value is text. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Default false. */
  readonly required?: boolean;
}

export interface PromptDefinition<A extends readonly PromptArgument[]> extends Item {
  readonly arguments?: A;
  /** Values for an argument. */
  readonly complete?: { readonly [K in A[number]["name"]]?: Complete };
}

type Required<A extends readonly PromptArgument[]> = Extract<A[number], { readonly required: true }>["name"];

/** What the client gave: text, of what is not required maybe none. */
export type PromptValues<A extends readonly PromptArgument[]> = string extends A[number]["name"]
  ? Readonly<Record<string, string>>
  : { readonly [K in Required<A>]: string } & { readonly [K in Exclude<A[number]["name"], Required<A>>]?: string };

/** Text is one message of the user's; `messages([…])` says it message by message. */
export type PromptHandler<A extends readonly PromptArgument[]> = (values: PromptValues<A>, context: ServerContext) => unknown;

export class Prompts extends Shelf {
  constructor(registry: Registry, around: Surroundings) {
    super("prompts", registry, around);
  }

  /** Clients hear that the list has changed. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`; returns its undo. */
  register<const A extends readonly PromptArgument[] = readonly []>(definition: PromptDefinition<A>, handler: PromptHandler<A>): () => void;
  register(
    definition: PromptDefinition<readonly PromptArgument[]>,
    handler: (values: Readonly<Record<string, string>>, context: ServerContext) => unknown,
  ): () => void {
    checkDefinition("prompts", definition, handler);
    const { name, arguments: known, complete } = definition;
    return this.registry.add({
      prompts: {
        [name]: {
          ...describedBy(definition),
          ...omitUndefined({ arguments: known }),
          ...completing(complete),
          get: handling(this.refOf(name), this.around, handler),
        },
      },
    });
  }
}
