import { type Bag, type Json, type ListName, type Offer, type OfferRef, TroupeError } from "../../core/contract/index.ts";
import { checkHeaderParameters, checkScopes, scopesOf, setOwn, templateVariables } from "../../core/contract/internal.ts";
import { type Schema, takesMisfits, toJsonSchema } from "../../core/schema/index.ts";
import { checkName, type Names } from "./names.ts";
import { refOf } from "./refs.ts";
import type { HandlerContext } from "./registry-context.ts";
import type { Complete, Definitions, Described, RegistryPrompt, RegistryResource, RegistryTool, Texts } from "./registry-definitions.ts";
import { checkMembers, checkVariables } from "./registry-check.ts";
import { Behind } from "./registry-behind.ts";
import { Gate } from "./registry-gate.ts";

export interface Handler {
  readonly input?: Schema;
  /** What clients are shown of it. */
  readonly shown?: Json;
  readonly output?: Schema;
  readonly complete?: Readonly<Record<string, Complete>>;
  run(args: unknown, context: HandlerContext): unknown;
}

/** One offer of a registry, made once: the catalogues it is part of share it. */
export interface Entry {
  readonly list: ListName;
  readonly ref: OfferRef;
  readonly offer: Offer;
  readonly handler: Handler;
  /** What its caller's token must have. */
  readonly scopes: readonly string[];
  /** Absent: on for everybody. */
  readonly gate: Gate | undefined;
  /** Of a template that is listed. */
  readonly behind: Behind | undefined;
}

function entry(
  list: ListName,
  name: string,
  described: Described & Pick<RegistryResource, "list"> & Pick<RegistryTool, "task">,
  definition: Bag,
  readOnly: boolean,
  handler: Handler,
): Entry {
  const ref = refOf(list, name);
  checkScopes(described.meta, ref);
  const gate = described.when === undefined ? undefined : new Gate(ref, (viewer) => described.when === undefined || described.when(viewer));
  const behind = behindOf(ref, described, definition["uriTemplate"]);
  const offer = Object.freeze({
    name,
    action: name,
    readOnly,
    definition: Object.freeze({ ...common(described), ...definition }),
    ...(behind !== undefined && { listed: true }),
    ...(described.task !== undefined && { task: described.task }),
    ...(list === "tools" && handler.input !== undefined && takesMisfits(handler.input) && { checksArguments: "misfits" as const }),
  });
  return { list, ref, offer, scopes: scopesOf(offer.definition), handler, gate, behind };
}

function behindOf(ref: OfferRef, resource: Pick<RegistryResource, "list">, uriTemplate: Json | undefined): Behind | undefined {
  if (resource.list === undefined) return undefined;
  const [variable, ...others] = uriTemplate === undefined ? [] : templateVariables(uriTemplate, ref);
  if (variable === undefined || others.length > 0)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${ref} has a \`list\` of what its variable may be: give its URI one variable, as in notes://{id}.`,
    );
  return new Behind(ref, variable, (viewer) => resource.list?.(viewer));
}

/** Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function entriesOf({ tools = {}, resources = {}, prompts = {} }: Definitions, names: Names): readonly Entry[] {
  const named = <T extends Described>(list: ListName, record: Readonly<Record<string, T>>): readonly (readonly [string, T])[] => {
    const pairs = Object.entries(record);
    for (const [name, one] of pairs) {
      checkName(names, list, name, "A registry");
      checkMembers(list, name, one);
    }
    return pairs;
  };
  return [
    ...named("tools", tools).map(([name, one]) => {
      const definition = toolDefinition(one, name);
      return entry("tools", name, one, definition, one.annotations?.["readOnlyHint"] === true, {
        run: (args, context) => one.run(bagOf(args), context),
        ...(one.input === undefined ? {} : { input: one.input, shown: definition["inputSchema"] ?? {} }),
        ...(one.output === undefined ? {} : { output: one.output }),
      });
    }),
    ...named("resources", resources).map(([name, one]) =>
      entry("resources", name, one, resourceDefinition(one, name), true, {
        run: (args, context) => one.read(textsOf(args), context),
        ...(one.complete === undefined ? {} : { complete: one.complete }),
      }),
    ),
    ...named("prompts", prompts).map(([name, one]) =>
      entry("prompts", name, one, promptDefinition(one, name), true, {
        run: (args, context) => one.get(textsOf(args), context),
        input: promptSchema(one),
        ...(one.complete === undefined ? {} : { complete: one.complete }),
      }),
    ),
  ];
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
    inputSchema:
      input === undefined ? { type: "object", properties: {} } : ofObject(toJsonSchema(input, "input", `The input of ${name}`), name),
    ...(output === undefined ? {} : { outputSchema: toJsonSchema(output, "output", `The output of ${name}`) }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function ofObject(schema: Bag, name: string): Bag {
  const { type } = schema;
  if (type !== undefined && type !== "object")
    throw new TroupeError("BAD_DEFINITION", `The input of ${name} must be the schema of an object: a client sends arguments by name.`);
  checkHeaderParameters(schema, `The input of ${name}`);
  return schema;
}

function resourceDefinition({ uri, mimeType, annotations, size, complete }: RegistryResource, name: string): Bag {
  const variables = templateVariables(uri, `resources/${JSON.stringify(name)}`);
  checkVariables("resources", name, variables, complete);
  return {
    [variables.length > 0 ? "uriTemplate" : "uri"]: uri,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(size === undefined ? {} : { size }),
  };
}

function promptDefinition({ arguments: known, complete }: RegistryPrompt, name: string): Bag {
  checkVariables(
    "prompts",
    name,
    (known ?? []).map((argument) => argument.name),
    complete,
  );
  return known === undefined ? {} : { arguments: known.map((argument) => ({ ...argument })) };
}

function promptSchema({ arguments: known = [] }: RegistryPrompt): Bag {
  return {
    type: "object",
    properties: Object.fromEntries(known.map(({ name }): [string, Json] => [name, { type: "string" }])),
    required: known.flatMap(({ name, required }) => (required === true ? [name] : [])),
  };
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
  for (const [name, value] of Object.entries(bagOf(args))) if (typeof value === "string") setOwn(texts, name, value);
  return texts;
}
