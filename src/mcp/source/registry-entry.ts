// Owns: one definition, checked and made an offer with its handler. Does not own: which offers there are (registry-index.ts).

import {
  type Bag,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  TroupeError,
  FUNCTION,
  type OptionRule,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  checkHeaderParameters,
  checkScopes,
  scopesOf,
  setOwn,
  templateVariables,
  ANNOTATIONS,
  ARGUMENT,
  HINTS,
  ICONS,
  firstInvalidField,
  OBJECT,
  SIZE,
  TASK,
  TEXT,
  isTexts,
  nameOf,
  shapeOf,
  unavailableMessage,
} from "../../core/contract/internal.ts";
import { type Schema, takesMisfits, toJsonSchema } from "../../core/schema/index.ts";
import { checkName, type Names } from "./names.ts";
import { refOf } from "./offers.ts";
import type {
  HandlerContext,
  Complete,
  Definitions,
  Described,
  RegistryPrompt,
  RegistryResource,
  RegistryTool,
  Texts,
} from "./registry-definitions.ts";

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
  readonly gate: EnabledCheck | undefined;
  /** Of a template that is listed. */
  readonly behind: ListedTemplate | undefined;
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
  const gate =
    described.when === undefined ? undefined : new EnabledCheck(ref, (viewer) => described.when === undefined || described.when(viewer));
  const behind = listedTemplateOf(ref, described, definition["uriTemplate"]);
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

function listedTemplateOf(
  ref: OfferRef,
  resource: Pick<RegistryResource, "list">,
  uriTemplate: Json | undefined,
): ListedTemplate | undefined {
  if (resource.list === undefined) return undefined;
  const [variable, ...others] = uriTemplate === undefined ? [] : templateVariables(uriTemplate, ref);
  if (variable === undefined || others.length > 0)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${ref} has a \`list\` of what its variable may be: give its URI one variable, as in notes://{id}.`,
    );
  return new ListedTemplate(ref, variable, (viewer) => resource.list?.(viewer));
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

const ARGUMENTS: OptionRule = [
  "a list of { name, title?, description?, required? }: texts, required a boolean; their values are text",
  (value) => Array.isArray(value) && value.every((one) => ARGUMENT[1](one)),
];
const COMPLETE: OptionRule = [
  "an object of functions by name",
  (value) => OBJECT[1](value) && Object.values(Object(value)).every((one) => typeof one === "function"),
];

const EVERY = { title: TEXT, icons: ICONS, meta: OBJECT };
const RULES: Readonly<Record<ListName, Readonly<Record<string, OptionRule>>>> = {
  tools: { ...EVERY, annotations: HINTS, task: TASK },
  resources: { ...EVERY, mimeType: TEXT, size: SIZE, annotations: ANNOTATIONS, list: FUNCTION, complete: COMPLETE },
  prompts: { ...EVERY, arguments: ARGUMENTS, complete: COMPLETE },
};

/** What clients would refuse the whole list over. Throws `BAD_DEFINITION`, naming the member. */
function checkMembers(list: ListName, name: string, definition: { readonly describe?: unknown }): void {
  const wrong =
    firstInvalidField({ description: definition.describe }, { description: TEXT }) ?? firstInvalidField(definition, RULES[list]);
  if (wrong !== undefined) throw bad(list, name, wrong);
}

/** Names are there once, and what is completed is one of them. Throws `BAD_DEFINITION`. */
function checkVariables(list: ListName, name: string, names: readonly string[], complete: object = {}): void {
  const what = list === "prompts" ? "argument" : "variable of its URI";
  const twice = names.find((one, at) => names.indexOf(one) !== at);
  if (twice !== undefined) throw bad(list, name, `${quoted(twice)} is there twice: give each ${what} a name of its own`);
  const unknown = Object.keys(complete).find((one) => !names.includes(one));
  if (unknown === undefined) return;
  const known = names.length === 0 ? "it has none" : `it has ${names.join(", ").slice(0, 200)}`;
  throw bad(list, name, `complete is for ${quoted(unknown)}, which is no ${what}: ${known}`);
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 60));

const bad = (list: ListName, name: string, why: string): TroupeError =>
  new TroupeError("BAD_DEFINITION", `${list}/${JSON.stringify(name)}: ${why}.`);

/** A template whose author lists the current values of its variable. If that fails, nothing is listed, and the fault is reported once. */
export class ListedTemplate {
  readonly #ref: OfferRef;
  readonly #variable: string;
  readonly #list: (viewer: Viewer) => unknown;
  #told = false;

  constructor(ref: OfferRef, variable: string, list: (viewer: Viewer) => unknown) {
    this.#ref = ref;
    this.#variable = variable;
    this.#list = list;
  }

  choicesFor(viewer: Viewer, fault: (error: TroupeError) => void): Readonly<Record<string, readonly string[]>> {
    return { [this.#variable]: this.#valuesFor(viewer, fault) };
  }

  #valuesFor(viewer: Viewer, fault: (error: TroupeError) => void): readonly string[] {
    let values: unknown;
    try {
      values = this.#list(viewer);
    } catch (cause) {
      return this.#nothing(fault, `threw ${nameOf(cause)}: mend it, the rest works`, cause);
    }
    if (isTexts(values)) return values;
    // Nobody waits for it, and what a promise rejects with unheard ends the process.
    if (values instanceof Promise) values.catch(() => undefined);
    return this.#nothing(fault, `gave ${shapeOf(values)}: give a list of texts, at once`);
  }

  #nothing(fault: (error: TroupeError) => void, what: string, cause?: unknown): readonly string[] {
    if (!this.#told) {
      this.#told = true;
      fault(new TroupeError("OUT_OF_ORDER", `${this.#ref} lists nothing: its \`list\` ${what}.`, { cause }));
    }
    return [];
  }
}

const WANTED = "true, false, or as text the reason it is off";

/** What says whether an offer is on. One that cannot say puts its own offer off, and is told of once. */
export class EnabledCheck {
  readonly #ref: OfferRef;
  readonly #when: (viewer: Viewer) => unknown;
  #told = false;

  constructor(ref: OfferRef, when: (viewer: Viewer) => unknown) {
    this.#ref = ref;
    this.#when = when;
  }

  /** Undefined: on; text: off, and why; true: off. */
  whyOff(viewer: Viewer, fault: (error: TroupeError) => void): string | true | undefined {
    let said: unknown;
    try {
      said = this.#when(viewer);
    } catch (cause) {
      return this.#outOfOrder(fault, `threw ${nameOf(cause)}: mend it, the rest works`, cause);
    }
    if (said === true) return undefined;
    if (said === false) return true;
    if (typeof said === "string") return said;
    // Nobody waits for it, and what a promise rejects with unheard ends the process.
    if (said instanceof Promise) said.catch(() => undefined);
    return this.#outOfOrder(fault, `gave ${shapeOf(said)}: give ${WANTED}`);
  }

  #outOfOrder(fault: (error: TroupeError) => void, what: string, cause?: unknown): string {
    if (!this.#told) {
      this.#told = true;
      fault(new TroupeError("OUT_OF_ORDER", `${this.#ref} is out of order: what says whether it is on ${what}.`, { cause }));
    }
    return unavailableMessage(this.#ref);
  }
}
