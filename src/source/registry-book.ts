import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type Bag,
  type Catalogue,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Surface,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { checkName, type Names } from "./names.ts";
import { refOf } from "./refs.ts";
import type { HandlerContext } from "./registry-context.ts";
import { type Schema, toJsonSchema } from "./schema.ts";
import { uriOf } from "./uri.ts";

/** Values for an argument that begin with what was typed so far. */
export type Complete = (value: string, others: Bag, viewer: Viewer) => readonly string[] | Promise<readonly string[]>;

/** Variables of a template, arguments of a prompt: all text. */
type Texts = Readonly<Record<string, string>>;

interface Described {
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
  run(args: A, context: HandlerContext): unknown;
}

/** A resource: a fixed URI, or a template whose variables arrive as arguments. */
export interface RegistryResource extends Described {
  readonly uri: string;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  readonly size?: number;
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

export interface Handler {
  readonly input?: Schema;
  readonly complete?: Readonly<Record<string, Complete>>;
  run(args: unknown, context: HandlerContext): unknown;
}

/** What a registry holds at a time: its catalogue, what runs behind it, and the surface for a viewer. */
export interface Book {
  readonly handlers: ReadonlyMap<OfferRef, Handler>;
  surface(viewer: Viewer): Surface;
}

/** Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`. */
export function makeBook({ tools = {}, resources = {}, prompts = {} }: Definitions, names: Names): Book {
  const handlers = new Map<OfferRef, Handler>();
  const gates: (readonly [OfferRef, (viewer: Viewer) => boolean | string])[] = [];
  const offer = (list: ListName, name: string, described: Described, definition: Bag, readOnly: boolean, handler: Handler): Offer => {
    checkName(names, list, name, "A registry");
    const ref = refOf(list, name);
    handlers.set(ref, handler);
    if (described.when !== undefined) gates.push([ref, (viewer) => described.when?.(viewer) ?? true]);
    return Object.freeze({ name, action: name, readOnly, definition: Object.freeze({ ...common(described), ...definition }) });
  };
  const catalogue: Catalogue = {
    tools: Object.entries(tools).map(([name, one]) => {
      const hint = one.annotations?.["readOnlyHint"] === true;
      return offer("tools", name, one, toolDefinition(one, name), hint, {
        run: (args, context) => one.run(bagOf(args), context),
        ...(one.input === undefined ? {} : { input: one.input }),
      });
    }),
    resources: Object.entries(resources).map(([name, one]) =>
      offer("resources", name, one, resourceDefinition(one), true, {
        run: (args, context) => one.read(textsOf(args), context),
        ...(one.complete === undefined ? {} : { complete: one.complete }),
      }),
    ),
    prompts: Object.entries(prompts).map(([name, one]) =>
      offer(
        "prompts",
        name,
        one,
        one.arguments === undefined ? {} : { arguments: one.arguments.map((argument) => ({ ...argument })) },
        true,
        {
          run: (args, context) => one.get(textsOf(args), context),
          input: promptSchema(one),
          ...(one.complete === undefined ? {} : { complete: one.complete }),
        },
      ),
    ),
  };
  checkUris(catalogue);
  const open: Surface = { catalogue, off: {} };
  const surfaces = new Map<string, Surface>();
  return {
    handlers,
    surface(viewer) {
      if (gates.length === 0) return open;
      const off: Record<OfferRef, string | true> = {};
      for (const [ref, when] of gates) {
        const on = when(viewer);
        if (on !== true) off[ref] = on === false ? true : on;
      }
      const key = JSON.stringify(off);
      const surface = surfaces.get(key) ?? { catalogue, off };
      if (surfaces.size < 256) surfaces.set(key, surface);
      return surface;
    },
  };
}

function common({ describe, title, icons, meta }: Described): Bag {
  return {
    ...(title === undefined ? {} : { title }),
    ...(describe === undefined ? {} : { description: describe }),
    ...(icons === undefined ? {} : { icons }),
    ...(meta === undefined ? {} : { _meta: meta }),
  };
}

function toolDefinition({ input, output, annotations }: RegistryTool, name: string): Bag {
  return {
    inputSchema: input === undefined ? { type: "object", properties: {} } : toJsonSchema(input, "input", `The input of ${name}`),
    ...(output === undefined ? {} : { outputSchema: toJsonSchema(output, "output", `The output of ${name}`) }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function resourceDefinition({ uri, mimeType, annotations, size }: RegistryResource): Bag {
  return {
    [uri.includes("{") ? "uriTemplate" : "uri"]: uri,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(size === undefined ? {} : { size }),
  };
}

const promptSchemas = new WeakMap<RegistryPrompt, Bag>();

function promptSchema(prompt: RegistryPrompt): Bag {
  let schema = promptSchemas.get(prompt);
  if (schema === undefined) {
    const known = prompt.arguments ?? [];
    schema = {
      type: "object",
      properties: Object.fromEntries(known.map(({ name }): [string, Json] => [name, { type: "string" }])),
      required: known.flatMap(({ name, required }) => (required === true ? [name] : [])),
    };
    promptSchemas.set(prompt, schema);
  }
  return schema;
}

function checkUris(catalogue: Catalogue): void {
  const taken = new Map<string, string>();
  for (const { name, definition } of catalogue.resources) {
    const uri = uriOf(definition);
    const other = taken.get(uri);
    if (other !== undefined)
      throw new TroupeError("NAME_COLLISION", `resources/${other} and resources/${name} have the same URI ${uri}: change one.`);
    taken.set(uri, name);
  }
}

// What a schema made of the arguments is the handler's own type: any object will do.
function isArguments(args: unknown): args is Bag {
  return typeof args === "object" && args !== null;
}

function bagOf(args: unknown): Bag {
  return isArguments(args) ? args : {};
}

function textsOf(args: unknown): Texts {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(bagOf(args))) if (typeof value === "string") texts[name] = value;
  return texts;
}
