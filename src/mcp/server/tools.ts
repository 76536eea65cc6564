import type { Bag, Content, TaskSupport } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Registry, Schema } from "../source/index.ts";
import type { ServerContext, Surroundings } from "./context.ts";
import { checkDefinition } from "./definition-check.ts";
import { handling } from "./handling.ts";
import { describedBy, type Item } from "./item.ts";
import type { Arguments, Result } from "./json-schema.ts";
import { Shelf } from "./shelf.ts";

/** A tool. Its arguments are checked against `input` before the handler runs. */
export interface ToolDefinition<S extends Schema | undefined, O extends Schema | undefined> extends Item {
  /** A Standard Schema (zod, ArkType, …) or a JSON Schema, of an object. Default: no arguments. */
  readonly input?: S;
  /** Of `structuredContent`. */
  readonly output?: O;
  /** Hints as MCP has them: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`. */
  readonly annotations?: Bag;
  /**
   * For a tool that takes its time: its call can be a task, which the client polls and can cancel (`signal`). "required": clients that
   * cannot use tasks are refused; "optional": they wait for the result. Absent: every client waits.
   */
  readonly task?: TaskSupport;
}

type Returned<O> = O extends Schema ? Result<O> | Content : unknown;

/** Text becomes a text block, an object `structuredContent` and its JSON as text; `content()` says it block by block. */
export type ToolHandler<S, O> = (args: Arguments<S>, context: ServerContext) => Returned<O> | Promise<Returned<O>>;

export class Tools extends Shelf {
  constructor(registry: Registry, around: Surroundings) {
    super("tools", registry, around);
  }

  /** Clients hear that the list has changed. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`; returns its undo. */
  register<const S extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(
    definition: ToolDefinition<S, O>,
    handler: ToolHandler<S, O>,
  ): () => void;
  register(definition: ToolDefinition<Schema, Schema>, handler: (args: Bag, context: ServerContext) => unknown): () => void {
    checkDefinition("tools", definition, handler);
    const { name, input, output, annotations, task } = definition;
    return this.registry.add({
      tools: {
        [name]: {
          ...describedBy(definition),
          ...omitUndefined({ input, output, annotations, task }),
          run: handling(this.refOf(name), this.around, handler, output),
        },
      },
    });
  }
}
