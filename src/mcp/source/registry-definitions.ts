import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Bag, TaskSupport, Viewer } from "../../core/contract/index.ts";
import type { HandlerContext } from "./registry-context.ts";
import type { Schema } from "../../core/schema/index.ts";

/** Values for an argument that begin with what was typed so far. */
export type Complete = (value: string, others: Bag, viewer: Viewer) => readonly string[] | Promise<readonly string[]>;

/** Variables of a template, arguments of a prompt: all text. */
export type Texts = Readonly<Record<string, string>>;

export interface Described {
  readonly describe?: string;
  readonly title?: string;
  readonly icons?: readonly Bag[];
  /** `_meta` of the list entry. */
  readonly meta?: Bag;
  /** True: on; text: off, and why; false: off. Tell `relist` when it changes. */
  when?(viewer: Viewer): boolean | string;
}

/** A tool: its arguments are checked against `input` before `run`. Methods, so that one with narrower arguments fits a record. */
export interface RegistryTool<A = Bag> extends Described {
  readonly input?: Schema;
  readonly output?: Schema;
  readonly annotations?: Bag;
  /** Its call may go on after it was answered; see `Offer`. */
  readonly task?: TaskSupport;
  run(args: A, context: HandlerContext): unknown;
}

/** A resource: a fixed URI, or a template whose variables arrive as arguments. */
export interface RegistryResource extends Described {
  readonly uri: string;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  readonly size?: number;
  /** Of a template of one variable: its values, of which each is listed as a resource. Tell `relist` when they change. */
  list?(viewer: Viewer): readonly string[];
  readonly complete?: Readonly<Record<string, Complete>>;
  read(args: Texts, context: HandlerContext): unknown;
}

/** A prompt: `arguments` as MCP lists them (all text). */
export interface RegistryPrompt extends Described {
  readonly arguments?: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  readonly complete?: Readonly<Record<string, Complete>>;
  get(args: Texts, context: HandlerContext): unknown;
}

export interface Definitions {
  readonly tools?: Readonly<Record<string, RegistryTool>>;
  readonly resources?: Readonly<Record<string, RegistryResource>>;
  readonly prompts?: Readonly<Record<string, RegistryPrompt>>;
}

/** A tool whose arguments have the type of its schema. */
export function tool<S extends StandardSchemaV1>(
  definition: RegistryTool<StandardSchemaV1.InferOutput<S>> & { readonly input: S },
): RegistryTool {
  return definition;
}
