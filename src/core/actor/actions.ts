// Owns: compiling tools, resources, prompts and messages: the offer in the catalogue, and the action that a turn runs. Does not own:
// running it (receive.ts), or whether it is available now (availability.ts).
import { type JsonObject, isJsonObject, type Json, type Offer, type OfferRef, TroupeError } from "../contract/index.ts";
import {
  checkHeaderParameters,
  checkScopes,
  checkTask,
  freezeDeep,
  hasOpenKeyword,
  headerParameters,
  isTexts,
  pointerStep,
  setOwn,
  templateVariables,
  withScopes,
} from "../contract/internal.ts";
import { takesMisfits } from "../schema/index.ts";
import { frozenOf } from "./containers.ts";
import type { RunContext, ViewContext, WorkContext } from "./context.ts";
import type { AllowedRoles, AnyMessage, AnyPrompt, AnyReply, AnyResource, AnyTool, Choices, Enabled } from "./any-definition.ts";
import type { PromptArgument } from "./definition.ts";
import { checkMessageName, checkOfferName } from "./names.ts";
import type { Confirm } from "./questions.ts";
import { readOnly } from "./read-only.ts";
import type { Allowed, Roles } from "./roles.ts";
import { asObjectSchema, type Check, compileCheck, compileInput, compileOutput, toJsonSchema } from "./schema.ts";
import { toJson } from "./to-json.ts";
import type { UndoPlan } from "./undo.ts";

type Handler =
  | { readonly kind: "run"; readonly run: (ctx: RunContext<object, unknown>) => unknown }
  | { readonly kind: "view"; readonly view: (context: ViewContext<unknown, unknown>) => unknown }
  | { readonly kind: "undo"; readonly plan: UndoPlan }
  | { readonly kind: "work"; readonly work: (ctx: WorkContext<object, unknown>) => Promise<unknown> };

interface ActionParts {
  readonly name: string;
  readonly handler: Handler;
  readonly ref?: OfferRef | undefined;
  readonly allow?: Allowed | undefined;
  readonly enabled?: Enabled | undefined;
  readonly choices?: Choices | undefined;
  readonly input?: Check | undefined;
  readonly output?: Check | undefined;
  readonly secret?: readonly string[] | undefined;
  readonly confirm?: Confirm | undefined;
  readonly replies?: boolean | undefined;
}

/**
 * One action, compiled: all that `receive` and `view` need of it. A class, so that all have one hidden class: with the keys that each
 * author gave, every read was a lookup by name as soon as a process served a handful.
 */
export class Action {
  readonly name: string;
  /** Absent: a message, never on a surface. */
  readonly ref: OfferRef | undefined;
  /** Absent: for every caller. */
  readonly allow: Allowed | undefined;
  readonly enabled: Enabled | undefined;
  readonly choices: Choices | undefined;
  /** Absent: arguments pass unchecked. */
  readonly input: Check | undefined;
  readonly output: Check | undefined;
  readonly secret: readonly string[] | undefined;
  readonly confirm: Confirm | undefined;
  /** Whether it is a message that brings replies. */
  readonly replies: boolean;
  /** How errors name its reply. */
  readonly replied: string;
  readonly handler: Handler;

  constructor({ name, ref, allow, enabled, choices, input, output, secret, confirm, replies, handler }: ActionParts) {
    this.name = name;
    this.ref = ref;
    this.allow = allow;
    this.enabled = enabled;
    this.choices = choices;
    this.input = input;
    this.output = output;
    this.secret = secret;
    this.confirm = confirm;
    this.replies = replies === true;
    this.replied = `What ${name} replied`;
    this.handler = handler;
  }
}

/** An offer in the catalogue and its action. */
export interface Compiled {
  readonly offer: Offer;
  readonly action: Action;
}

const allowedFor = (roles: Roles, names: AllowedRoles | undefined, where: string): Allowed | undefined =>
  names === undefined ? undefined : roles.allowed(names, where);

const NO_PROPERTIES: JsonObject = { type: "object", properties: {} };

export function compileTool(kind: string, name: string, tool: AnyTool, roles: Roles): Compiled {
  const ref: OfferRef = `tools/${name}`;
  const where = `${kind}: ${ref}`;
  checkOfferName(name, where);
  const inputSchema =
    tool.input === undefined ? NO_PROPERTIES : asObjectSchema(toJsonSchema(tool.input, "input", `${where}, input`), `${where}, input`);
  checkHeaderParameters(inputSchema, `${where}, input`);
  const handler = handlerOf(tool, where);
  const isReadOnly = handler.kind === "view";
  checkTask(tool.task, where);
  if (isReadOnly && tool.task !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} only reads, which is done at once: it is no task. Use \`work\`, or take \`task\` off.`,
    );
  if (isReadOnly && tool.confirm !== undefined) throw new TroupeError("BAD_DEFINITION", `${where} only reads: it has nothing to confirm.`);
  const { properties } = inputSchema;
  const names = isJsonObject(properties) ? Object.keys(properties) : namesOf(inputSchema);
  checkArguments([...Object.keys(tool.choices ?? {}), ...(tool.secret ?? [])], names, where);
  const open = headerParameters(inputSchema).find(({ path: [first = ""] }) => tool.secret?.includes(first) === true);
  if (open !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: the argument ${JSON.stringify(open.path.join("."))} is \`secret\`, and \`x-mcp-header\` would repeat it in a header, which proxies write down: take one of them off.`,
    );
  checkChoices(Object.keys(tool.choices ?? {}), propertiesOf(inputSchema), where);
  const annotations = {
    ...(tool.confirm !== undefined && { destructiveHint: true }),
    ...tool.annotations,
    // True by construction, whatever the author wrote.
    ...(isReadOnly && { readOnlyHint: true }),
  };
  const outputSchema = tool.output === undefined ? undefined : toJsonSchema(tool.output, "output", `${where}, output`);
  const definition = definitionOf(
    {
      title: tool.title,
      description: tool.description,
      inputSchema,
      outputSchema,
      annotations: Object.keys(annotations).length === 0 ? undefined : annotations,
      icons: tool.icons,
      _meta: withScopes(tool.meta, tool.scopes),
    },
    where,
  );
  return {
    offer: freezeDeep({
      name,
      definition,
      action: ref,
      readOnly: isReadOnly,
      ...(tool.input !== undefined && takesMisfits(tool.input) && { checksArguments: "misfits" }),
      ...(tool.task !== undefined && { task: tool.task }),
      ...(tool.secret !== undefined && { secret: tool.secret }),
    }),
    action: new Action({
      name: ref,
      ref,
      handler,
      allow: allowedFor(roles, tool.allow, where),
      enabled: tool.enabled,
      choices: tool.choices,
      input: tool.input === undefined ? noArguments : compileInput(tool.input, inputSchema, `${where}, input`),
      output:
        tool.output === undefined || outputSchema === undefined ? undefined : compileOutput(tool.output, outputSchema, `${where}, output`),
      secret: tool.secret,
      confirm: tool.confirm,
    }),
  };
}

const UNDO_DESCRIPTION = "Undoes your last change here, if that is still possible. Call it again to undo the one before it.";

/** The tool that takes back what others did. */
export function compileUndo(kind: string, plan: UndoPlan): Compiled {
  const name = plan.tool;
  const ref: OfferRef = `tools/${name}`;
  checkOfferName(name, `${kind}: undo`);
  const definition = { title: "Undo", description: UNDO_DESCRIPTION, inputSchema: NO_PROPERTIES, annotations: { idempotentHint: false } };
  return {
    offer: freezeDeep({ name, definition, action: ref, readOnly: false }),
    action: new Action({ name: ref, ref, handler: { kind: "undo", plan }, input: noArguments }),
  };
}

export function compileResource(kind: string, name: string, resource: AnyResource, roles: Roles): Compiled {
  const ref: OfferRef = `resources/${name}`;
  const where = `${kind}: ${ref}`;
  checkOfferName(name, where);
  // {alias} is filled in by the cast.
  const variables = templateVariables(resource.uri, where, "alias");
  checkArguments(Object.keys(resource.choices ?? {}), variables, where);
  const [variable] = variables;
  if (resource.listed === true && (variables.length !== 1 || variable === undefined || resource.choices?.[variable] === undefined))
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} is \`listed\` by what its variable may be: give its URI one variable, and \`choices\` for that.`,
    );
  const { reads } = resource;
  if (reads !== undefined && (!isTexts(reads) || reads.length === 0))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`reads\` names members of the state, one at least, or is absent.`);
  const definition = definitionOf(
    {
      ...(variables.length === 0 ? { uri: resource.uri } : { uriTemplate: resource.uri }),
      name: resource.name ?? name,
      title: resource.title,
      description: resource.description,
      mimeType: resource.mimeType,
      annotations: resource.annotations,
      size: resource.size,
      icons: resource.icons,
      _meta: withScopes(resource.meta, resource.scopes),
    },
    where,
  );
  return {
    offer: freezeDeep({
      name,
      definition,
      action: ref,
      readOnly: true,
      ...(resource.listed === true && { listed: true }),
      // Choices may depend on other members, and a value that is no longer a choice has no content: with them every turn notifies.
      ...(reads !== undefined && resource.choices === undefined && { reads: [...reads] }),
    }),
    action: new Action({
      name: ref,
      ref,
      handler: handlerOf(
        {
          view:
            reads === undefined
              ? resource.view.bind(resource)
              : (context) => resource.view({ ...context, state: members(context.state, reads) }),
        },
        where,
      ),
      allow: allowedFor(roles, resource.allow, where),
      enabled: resource.enabled,
      choices: resource.choices,
      input: variables.length === 0 ? noArguments : texts(variables, variables),
    }),
  };
}

// The view must not see other members: no subscriber would be notified of a change to them.
function members(given: unknown, names: readonly string[]): object {
  const named: Record<string, unknown> = {};
  const state = frozenOf(given);
  if (typeof state === "object" && state !== null)
    for (const name of names) if (Object.hasOwn(state, name)) setOwn(named, name, Reflect.get(state, name));
  return readOnly(Object.freeze(named));
}

export function compilePrompt(kind: string, name: string, prompt: AnyPrompt, roles: Roles): Compiled {
  const ref: OfferRef = `prompts/${name}`;
  const where = `${kind}: ${ref}`;
  checkOfferName(name, where);
  if (prompt.input !== undefined && prompt.arguments !== undefined) {
    throw new TroupeError("BAD_DEFINITION", `${where} has \`input\` and \`arguments\`: give one of them.`);
  }
  const schema =
    prompt.input === undefined ? undefined : asObjectSchema(toJsonSchema(prompt.input, "input", `${where}, input`), `${where}, input`);
  const list = schema === undefined ? (prompt.arguments ?? []) : argumentsOf(schema);
  const names = list.map((one) => one.name);
  const twice = names.find((one, at) => names.indexOf(one) !== at);
  if (twice !== undefined)
    throw new TroupeError("BAD_DEFINITION", `${where} has the argument ${JSON.stringify(twice)} twice: give each a name of its own.`);
  checkArguments(Object.keys(prompt.choices ?? {}), names, where);
  if (schema !== undefined) checkChoices(Object.keys(prompt.choices ?? {}), propertiesOf(schema), where);
  const definition = definitionOf(
    {
      title: prompt.title,
      description: prompt.description,
      // An explicit empty list is listed as it is.
      arguments: list.length === 0 && prompt.arguments === undefined ? undefined : list,
      icons: prompt.icons,
      _meta: withScopes(prompt.meta, prompt.scopes),
    },
    where,
  );
  const input =
    schema === undefined || prompt.input === undefined
      ? texts(
          names,
          list.filter((one) => one.required === true).map((one) => one.name),
        )
      : fromText(schema, compileCheck(prompt.input, `${where}, input`));
  return {
    offer: freezeDeep({ name, definition, action: ref, readOnly: true }),
    action: new Action({
      name: ref,
      ref,
      handler: handlerOf({ view: prompt.view.bind(prompt) }, where),
      allow: allowedFor(roles, prompt.allow, where),
      enabled: prompt.enabled,
      choices: prompt.choices,
      input,
    }),
  };
}

export function compileMessage(kind: string, name: string, message: AnyMessage): Action {
  const where = `${kind}: messages.${name}`;
  checkMessageName(name, where);
  if (message.view !== undefined) throw new TroupeError("BAD_DEFINITION", `${where}: a message is no read: use \`run\` or \`work\`.`);
  if (message.replies === true && message.input !== undefined) {
    throw new TroupeError("BAD_DEFINITION", `${where} brings replies: their arguments are known, leave \`input\` away.`);
  }
  // One that is misspelled would leave the secret in the history.
  if (message.secret !== undefined && message.input !== undefined)
    checkArguments(message.secret, namesOfInput(message.input, `${where}, input`), where);
  return new Action({
    name,
    handler: handlerOf(message, where),
    input: message.input === undefined ? undefined : compileCheck(message.input, `${where}, input`),
    output: message.output === undefined ? undefined : compileCheck(message.output, `${where}, output`),
    secret: message.secret,
    replies: message.replies,
  });
}

/** The handler of a reply, compiled. */
export interface CompiledReply {
  readonly name: string;
  readonly of: AnyReply["of"];
  readonly input: Check | undefined;
  readonly run: AnyReply["run"];
  readonly refused: AnyReply["refused"];
}

export function compileReply(kind: string, name: string, reply: AnyReply): CompiledReply {
  const where = `${kind}: replies.${name}`;
  checkMessageName(name, where);
  const { of, input } = reply;
  if (typeof of.kind !== "string" || typeof of.action !== "string")
    throw new TroupeError("BAD_DEFINITION", `${where}: \`of\` is a message of another kind: write \`payments.message("charge")\`.`);
  return {
    name: `replies/${name}`,
    of,
    input: input === undefined ? undefined : compileCheck(input, `${where}, input`),
    run: reply.run.bind(reply),
    refused: reply.refused?.bind(reply),
  };
}

/** Exactly one of `run`, `view` and `work`, bound to its definition; throws `BAD_DEFINITION`. */
function handlerOf(definition: Pick<AnyTool, "run" | "view" | "work">, where: string): Handler {
  const { run, view, work } = definition;
  if (run !== undefined && view === undefined && work === undefined) return { kind: "run", run: run.bind(definition) };
  if (view !== undefined && run === undefined && work === undefined) return { kind: "view", view: view.bind(definition) };
  if (work !== undefined && run === undefined && view === undefined) return { kind: "work", work: work.bind(definition) };
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where} must have exactly one of \`run\` (a turn), \`view\` (a read) and \`work\` (what waits).`,
  );
}

function noArguments(): { readonly value: unknown } {
  return NONE;
}
const NONE = Object.freeze({ value: Object.freeze({}) });

/** Accepts arguments that are all text, of these names. */
function texts(names: readonly string[], required: readonly string[]): Check {
  return (value) => {
    if (typeof value !== "object" || value === null)
      return required.length === 0 ? NONE : { issues: [{ pointer: "", message: `${required.join(", ")} must be given` }] };
    const given: Record<string, unknown> = {};
    for (const name of names) {
      const text: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
      if (text === undefined && !required.includes(name)) continue;
      if (typeof text !== "string")
        return { issues: [{ pointer: pointerStep(name), message: text === undefined ? "is required" : "must be text" }] };
      setOwn(given, name, text);
    }
    return { value: given };
  };
}

/** A prompt's arguments arrive as text: numbers and booleans are parsed as the schema requires. */
function fromText(schema: JsonObject, check: Check): Check {
  const types = new Map<string, Json>();
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const type = isJsonObject(property) ? property["type"] : undefined;
    if (type === "number" || type === "integer" || type === "boolean") types.set(name, type);
  }
  if (types.size === 0) return (value) => check(value ?? {});
  return (value) => {
    if (typeof value !== "object" || value === null) return check(value ?? {});
    const read: Record<string, unknown> = { ...value };
    for (const [name, type] of types) {
      const text = read[name];
      if (typeof text !== "string") continue;
      if (type === "boolean") read[name] = text === "true" ? true : text === "false" ? false : text;
      else if (text.trim() !== "" && Number.isFinite(Number(text))) read[name] = Number(text);
    }
    return check(read);
  };
}

function argumentsOf(schema: JsonObject): readonly PromptArgument[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const title = isJsonObject(property) ? property["title"] : undefined;
    const description = isJsonObject(property) ? property["description"] : undefined;
    return {
      name,
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      required: required.includes(name),
    };
  });
}

/** The names of an object's members, with those of each member of a union. Undefined: the schema leaves them open. */
function namesOf(schema: unknown): readonly string[] | undefined {
  if (!isJsonObject(schema) || hasOpenKeyword(schema)) return undefined;
  const { properties, additionalProperties = false } = schema;
  if (additionalProperties !== false) return undefined;
  const own = isJsonObject(properties) ? Object.keys(properties) : undefined;
  const parts = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flatMap((list) => (Array.isArray(list) ? list.map(namesOf) : []));
  if (parts.includes(undefined) || (own === undefined && parts.length === 0)) return undefined;
  return [own, ...parts].flatMap((names) => names ?? []);
}

/** The names of a message's arguments. Undefined: its schema cannot be written as JSON Schema, which only tools need. */
function namesOfInput(input: object, where: string): readonly string[] | undefined {
  try {
    return namesOf(toJsonSchema(input, "input", where));
  } catch {
    return undefined;
  }
}

function propertiesOf(schema: JsonObject): JsonObject {
  return isJsonObject(schema["properties"]) ? schema["properties"] : {};
}

/** Throws `BAD_DEFINITION` if an argument that `choices` or `secret` names is not in the input. */
function checkArguments(used: readonly string[], names: readonly string[] | undefined, where: string): void {
  const extra = names === undefined ? undefined : used.find((name) => !names.includes(name));
  if (extra !== undefined)
    throw new TroupeError("BAD_DEFINITION", `${where} speaks of the argument ${JSON.stringify(extra)}, which its input does not have.`);
}

/** Choices are texts. An argument that can only be a number or an object could never be one of them. Throws `BAD_DEFINITION`. */
function checkChoices(names: readonly string[], properties: JsonObject, where: string): void {
  for (const name of names) {
    const types = typesOf(properties[name]);
    if (types === undefined || types.includes("string")) continue;
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`choices.${name}\` are texts, and the argument is ${types.join(" or ")}: make it text or a list of texts, or write its values into its schema.`,
    );
  }
}

/** The types of a value; of a list, those of its items. Undefined: the schema leaves it open. */
function typesOf(schema: unknown): readonly string[] | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { type } = schema;
  if (type === "array") return typesOf(schema["items"]);
  const types = Array.isArray(type) ? type : [type];
  return types.every((one) => typeof one === "string") ? types : undefined;
}

function definitionOf(entries: Readonly<Record<string, unknown>>, where: string): JsonObject {
  const json = toJson(entries, `${where}, definition`, "BAD_DEFINITION");
  checkScopes(entries["_meta"], where);
  return isJsonObject(json) ? json : {};
}
