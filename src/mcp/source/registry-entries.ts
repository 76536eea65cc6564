// Owns: the offers of a registry: definitions checked and made entries, their index, and the surface for a viewer. Does not own: calls
// and subscribers (registry.ts).

import {
  type JsonObject,
  type Catalogue,
  FUNCTION,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type OptionRule,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  checkHeaderParameters,
  checkScopes,
  firstInvalidField,
  isTexts,
  Lru,
  nameOf,
  OBJECT,
  OFFERED,
  omitUndefined,
  scopesOf,
  setOwn,
  shapeOf,
  TASK,
  templateVariables,
  TEXT,
  unavailableMessage,
} from "../../core/contract/internal.ts";
import { type Schema, takesMisfits, toJsonSchema } from "../../core/schema/index.ts";
import { lacksScope } from "./actor-access.ts";
import { checkName, type Names, refOf, uriOf } from "./names.ts";
import type {
  CallContext,
  Complete,
  Definitions,
  HandlerContext,
  RegistryPrompt,
  RegistryResource,
  RegistryTool,
  Texts,
} from "./registry-definitions.ts";

export interface Handler {
  readonly input?: Schema;
  /** `input` as clients get it. */
  readonly inputSchema?: Json;
  readonly output?: Schema;
  readonly complete?: Readonly<Record<string, Complete>>;
  run(args: unknown, context: CallContext): unknown;
}

/** One offer of a registry, made once: the catalogues it is part of share it. */
export interface RegistryEntry {
  readonly list: ListName;
  readonly ref: OfferRef;
  readonly offer: Offer;
  readonly handler: Handler;
  /** What its caller's token must have. */
  readonly scopes: readonly string[];
  /** Whether it is on for a viewer. Absent: for everyone. */
  readonly enabled: ViewerFunction<boolean | string> | undefined;
  readonly values: ListedValues | undefined;
}

/** The values of a template's variable, each of which is listed as a resource. */
interface ListedValues {
  readonly variable: string;
  readonly list: ViewerFunction<readonly string[]>;
}

type Described = RegistryTool | RegistryResource | RegistryPrompt;

function entryOf(
  list: ListName,
  name: string,
  described: Described,
  definition: JsonObject,
  readOnly: boolean,
  handler: Handler,
): RegistryEntry {
  const ref = refOf(list, name);
  checkScopes(described.meta, ref);
  const values = "list" in described ? listedValues(ref, described, definition["uriTemplate"]) : undefined;
  const task = "task" in described ? described.task : undefined;
  const offer = Object.freeze({
    name,
    action: name,
    readOnly,
    definition: Object.freeze({ ...common(described), ...definition }),
    ...(values !== undefined && { listed: true }),
    ...(task !== undefined && { task }),
    ...(list === "tools" && handler.input !== undefined && takesMisfits(handler.input) && { checksArguments: "misfits" as const }),
  });
  return { list, ref, offer, scopes: scopesOf(offer.definition), handler, enabled: enabledCheck(ref, described), values };
}

const isAnswer = (value: unknown): value is boolean | string => typeof value === "boolean" || typeof value === "string";

function enabledCheck(ref: OfferRef, described: Described): ViewerFunction<boolean | string> | undefined {
  if (described.enabled === undefined) return undefined;
  const expected = ["give true, false, or as text the reason it is off", isAnswer] as const;
  return new ViewerFunction(
    `${ref} is out of order: what says whether it is on`,
    (viewer) => described.enabled === undefined || described.enabled({ viewer }),
    ...expected,
  );
}

function listedValues(ref: OfferRef, resource: Pick<RegistryResource, "list">, uriTemplate: Json | undefined): ListedValues | undefined {
  if (resource.list === undefined) return undefined;
  const [variable, ...others] = uriTemplate === undefined ? [] : templateVariables(uriTemplate, ref);
  if (variable === undefined || others.length > 0)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${ref} has a \`list\` of what its variable may be: give its URI one variable, as in notes://{id}.`,
    );
  const expected = ["give a list of texts, at once", isTexts] as const;
  return { variable, list: new ViewerFunction(`${ref} lists nothing: its \`list\``, (viewer) => resource.list?.({ viewer }), ...expected) };
}

/** Throws `BAD_NAME`, `BAD_DEFINITION`. */
function entriesOf({ tools = {}, resources = {}, prompts = {} }: Definitions, names: Names): readonly RegistryEntry[] {
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
      const { input, output } = one;
      return entryOf("tools", name, one, definition, one.annotations?.["readOnlyHint"] === true, {
        run: (args, context) => one.work(withArgs(context, objectOf(args))),
        ...omitUndefined({ input, output, inputSchema: input && definition["inputSchema"] }),
      });
    }),
    ...named("resources", resources).map(([name, one]) =>
      entryOf("resources", name, one, resourceDefinition(one, name), true, {
        run: (args, context) => one.view(withArgs(context, textsOf(args))),
        ...omitUndefined({ complete: one.complete }),
      }),
    ),
    ...named("prompts", prompts).map(([name, one]) =>
      entryOf("prompts", name, one, promptDefinition(one, name), true, {
        run: (args, context) => one.view(withArgs(context, textsOf(args))),
        input: promptSchema(one),
        ...omitUndefined({ complete: one.complete }),
      }),
    ),
  ];
}

// Assigned, since a timeout is reported through this very object.
const withArgs = <A>(context: CallContext, args: A): HandlerContext<A> => Object.assign(context, { args });

const common = ({ description, title, icons, meta }: Described): JsonObject => omitUndefined({ title, description, icons, _meta: meta });

function toolDefinition({ input, output, annotations }: RegistryTool, name: string): JsonObject {
  return omitUndefined({
    inputSchema:
      input === undefined ? { type: "object", properties: {} } : ofObject(toJsonSchema(input, "input", `The input of ${name}`), name),
    outputSchema: output && toJsonSchema(output, "output", `The output of ${name}`),
    annotations,
  });
}

function ofObject(schema: JsonObject, name: string): JsonObject {
  const { type } = schema;
  if (type !== undefined && type !== "object")
    throw new TroupeError("BAD_DEFINITION", `The input of ${name} must be the schema of an object: a client sends arguments by name.`);
  checkHeaderParameters(schema, `The input of ${name}`);
  return schema;
}

function resourceDefinition({ uri, mimeType, annotations, size, complete }: RegistryResource, name: string): JsonObject {
  const variables = templateVariables(uri, `resources/${JSON.stringify(name)}`);
  checkVariables("resources", name, variables, complete);
  return { [variables.length > 0 ? "uriTemplate" : "uri"]: uri, ...omitUndefined({ mimeType, annotations, size }) };
}

function promptDefinition({ arguments: known, complete }: RegistryPrompt, name: string): JsonObject {
  const variables = known?.map((argument) => argument.name) ?? [];
  checkVariables("prompts", name, variables, complete);
  return known === undefined ? {} : { arguments: known.map((argument) => ({ ...argument })) };
}

function promptSchema({ arguments: known = [] }: RegistryPrompt): JsonObject {
  return {
    type: "object",
    properties: Object.fromEntries(known.map(({ name }): [string, Json] => [name, { type: "string" }])),
    required: known.flatMap(({ name, required }) => (required === true ? [name] : [])),
  };
}

// What a schema made of the arguments is the handler's own type: any object will do.
function isArguments(args: unknown): args is JsonObject {
  return typeof args === "object" && args !== null;
}

function objectOf(args: unknown): JsonObject {
  return isArguments(args) ? args : {};
}

function textsOf(args: unknown): Texts {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(objectOf(args))) if (typeof value === "string") setOwn(texts, name, value);
  return texts;
}

const COMPLETE: OptionRule = [
  "an object of functions by name",
  (value) => OBJECT[1](value) && Object.values(Object(value)).every((one) => typeof one === "function"),
];

const RULES: Readonly<Record<ListName, Readonly<Record<string, OptionRule>>>> = {
  tools: { ...OFFERED.tools, task: TASK },
  resources: { ...OFFERED.resources, list: FUNCTION, complete: COMPLETE },
  prompts: { ...OFFERED.prompts, complete: COMPLETE },
};

/** What clients would refuse the whole list over. Throws `BAD_DEFINITION`, naming the member. */
function checkMembers(list: ListName, name: string, definition: { readonly description?: unknown }): void {
  const wrong =
    firstInvalidField({ description: definition.description }, { description: TEXT }) ?? firstInvalidField(definition, RULES[list]);
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

/** An author's `enabled` or `list`. Where it throws, or returns what it must not, that is reported once and its offer does without. */
class ViewerFunction<T> {
  readonly #what: string;
  readonly #run: (viewer: Viewer) => unknown;
  readonly #expected: string;
  readonly #isValid: (value: unknown) => value is T;
  #isReported = false;

  constructor(what: string, run: (viewer: Viewer) => unknown, expected: string, isValid: (value: unknown) => value is T) {
    this.#what = what;
    this.#run = run;
    this.#expected = expected;
    this.#isValid = isValid;
  }

  /** Undefined: it failed. */
  of(viewer: Viewer, fault: (error: TroupeError) => void): T | undefined {
    let value: unknown;
    try {
      value = this.#run(viewer);
    } catch (cause) {
      return this.#failed(fault, `threw ${nameOf(cause)}: mend it, the rest works`, cause);
    }
    if (this.#isValid(value)) return value;
    // Not awaited, so a rejection is swallowed here.
    if (value instanceof Promise) value.catch(() => undefined);
    return this.#failed(fault, `gave ${shapeOf(value)}: ${this.#expected}`);
  }

  #failed(fault: (error: TroupeError) => void, why: string, cause?: unknown): undefined {
    if (this.#isReported) return;
    this.#isReported = true;
    fault(new TroupeError("OUT_OF_ORDER", `${this.#what} ${why}.`, { cause }));
  }
}

/** Undefined: on; text: off, and why; true: off. */
function whyOff({ ref, enabled }: RegistryEntry, viewer: Viewer, fault: (error: TroupeError) => void): string | true | undefined {
  if (enabled === undefined) return undefined;
  const answer = enabled.of(viewer, fault);
  if (answer === undefined) return unavailableMessage(ref);
  return typeof answer === "string" ? answer : answer ? undefined : true;
}

const SURFACES_MAX = 256;
/** Of those that list the values of templates, which may be long. */
const LISTED_SURFACES_MAX = 32;

/** The offers of a registry in the order they were added, their handlers, and the surface for a viewer. */
export class RegistryIndex {
  readonly #names: Names;
  readonly #fault: (error: TroupeError) => void;
  readonly #entries = new Map<OfferRef, RegistryEntry>();
  /** URI → the ref that has it. */
  readonly #uris = new Map<string, OfferRef>();
  readonly #counts = new Map<ListName, number>();
  #current: CatalogueSurfaces | undefined;

  constructor(names: Names, fault: (error: TroupeError) => void) {
    this.#names = names;
    this.#fault = fault;
  }

  /** All of them, or none. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`. */
  add(more: Definitions): readonly RegistryEntry[] {
    const entries = entriesOf(more, this.#names);
    const uris = new Map<string, OfferRef>();
    for (const { ref, offer } of entries) {
      if (this.#entries.has(ref))
        throw new TroupeError("NAME_COLLISION", `${ref} is there already: remove it first, or name the new one otherwise.`);
      const uri = uriOf(offer.definition);
      const other = this.#uris.get(uri) ?? uris.get(uri);
      if (other !== undefined) throw new TroupeError("NAME_COLLISION", `${other} and ${ref} have the same URI ${uri}: change one.`);
      if (uri !== "") uris.set(uri, ref);
    }
    for (const entry of entries) {
      this.#entries.set(entry.ref, entry);
      this.#counts.set(entry.list, this.count(entry.list) + 1);
    }
    for (const [uri, ref] of uris) this.#uris.set(uri, ref);
    this.renew();
    return entries;
  }

  remove(ref: OfferRef): boolean {
    const entry = this.#entries.get(ref);
    if (entry === undefined) return false;
    this.#entries.delete(ref);
    this.#counts.set(entry.list, this.count(entry.list) - 1);
    this.#uris.delete(uriOf(entry.offer.definition));
    this.renew();
    return true;
  }

  count(list: ListName): number {
    return this.#counts.get(list) ?? 0;
  }

  entry(ref: OfferRef): RegistryEntry | undefined {
    return this.#entries.get(ref);
  }

  surface(viewer: Viewer): Surface {
    return this.#now().surface(viewer);
  }

  catalogue(): Catalogue {
    return this.#now().catalogue;
  }

  /** Undefined: on; text: off, and why; true: off. */
  whyOff(entry: RegistryEntry, viewer: Viewer): string | true | undefined {
    return whyOff(entry, viewer, this.#fault);
  }

  #now(): CatalogueSurfaces {
    return (this.#current ??= new CatalogueSurfaces([...this.#entries.values()], this.#fault));
  }

  /** The next surface has another catalogue. */
  renew(): void {
    this.#current = undefined;
  }
}

/** One catalogue, and its surfaces by what is off in them and what their templates list. */
class CatalogueSurfaces {
  readonly catalogue: Catalogue;
  /** The only surface where nothing varies. */
  readonly #open: Surface;
  readonly #fault: (error: TroupeError) => void;
  readonly #varying: readonly RegistryEntry[];
  readonly #lists: boolean;
  readonly #surfaces: Lru<string, Surface>;

  constructor(entries: readonly RegistryEntry[], fault: (error: TroupeError) => void) {
    this.#fault = fault;
    const offers = (list: ListName): readonly Offer[] => entries.filter((entry) => entry.list === list).map(({ offer }) => offer);
    this.catalogue = { tools: offers("tools"), resources: offers("resources"), prompts: offers("prompts") };
    this.#open = { catalogue: this.catalogue, off: {} };
    this.#varying = entries.filter(({ enabled, values }) => enabled !== undefined || values !== undefined);
    this.#lists = entries.some(({ values }) => values !== undefined);
    this.#surfaces = new Lru(this.#lists ? LISTED_SURFACES_MAX : SURFACES_MAX);
  }

  surface(viewer: Viewer): Surface {
    if (this.#varying.length === 0) return this.#open;
    const off: Record<OfferRef, string | true> = {};
    const choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> = {};
    for (const entry of this.#varying) {
      const { ref, values, scopes } = entry;
      const why = whyOff(entry, viewer, this.#fault);
      if (why !== undefined) off[ref] = why;
      // A viewer who may not read what is listed sees no names of it either.
      else if (values !== undefined && !lacksScope(scopes, viewer))
        choices[ref] = { [values.variable]: values.list.of(viewer, this.#fault) ?? [] };
    }
    const key = JSON.stringify([off, choices]);
    const known = this.#surfaces.get(key);
    if (known !== undefined) return known;
    const surface = { catalogue: this.catalogue, off, ...(this.#lists && { choices: structuredClone(choices) }) };
    this.#surfaces.set(key, surface);
    return surface;
  }
}
