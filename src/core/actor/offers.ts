import { type Bag, isBag, type Json, type Offer, type OfferRef, TroupeError } from "../contract/index.ts";
import type { PromptArgument } from "./definition.ts";
import {
  checkHeaderParameters,
  checkScopes,
  checkTask,
  freezeDeep,
  isTexts,
  headerParameters,
  setOwn,
  templateVariables,
  withScopes,
} from "../contract/internal.ts";
import { choosable } from "./choosable.ts";
import { frozenOf, readOnly } from "./draft/index.ts";
import { checkOfferName } from "./names.ts";
import { Act } from "./act.ts";
import type { AnyPrompt, AnyResource, AnyTool } from "./any-definition.ts";
import { plain } from "./plain.ts";
import { takesMisfits } from "../schema/index.ts";
import { asObjectSchema, type Check, compileCheck, compileInput, toJsonSchema } from "./schema.ts";

/** An offer of the catalogue and the action behind it, from one definition. */
export interface Compiled {
  readonly offer: Offer;
  readonly act: Act;
}

const NO_PROPERTIES: Bag = { type: "object", properties: {} };

export function compileTool(kind: string, name: string, tool: AnyTool): Compiled {
  const ref: OfferRef = `tools/${name}`;
  const where = `${kind}: ${ref}`;
  checkOfferName(name, where);
  const inputSchema =
    tool.input === undefined ? NO_PROPERTIES : asObjectSchema(toJsonSchema(tool.input, "input", `${where}, input`), `${where}, input`);
  checkHeaderParameters(inputSchema, `${where}, input`);
  const does = doesOf(tool, where);
  const isReadOnly = does.how === "view";
  checkTask(tool.task, where);
  if (isReadOnly && tool.task !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} only reads, which is done at once: it is no task. Use \`work\`, or take \`task\` off.`,
    );
  if (isReadOnly && tool.confirm !== undefined) throw new TroupeError("BAD_DEFINITION", `${where} only reads: it has nothing to confirm.`);
  declared([...Object.keys(tool.choices ?? {}), ...(tool.secret ?? [])], namesOf(inputSchema), where);
  const open = headerParameters(inputSchema).find(({ path: [first = ""] }) => tool.secret?.includes(first) === true);
  if (open !== undefined)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: the argument ${JSON.stringify(open.path.join("."))} is \`secret\`, and \`x-mcp-header\` would repeat it in a header, which proxies write down: take one of them off.`,
    );
  choosable(Object.keys(tool.choices ?? {}), propertiesOf(inputSchema), where);
  const annotations = {
    ...(tool.confirm !== undefined && { destructiveHint: true }),
    ...tool.annotations,
    // By construction, whatever the author wrote.
    ...(isReadOnly && { readOnlyHint: true }),
  };
  const definition = defined(
    {
      title: tool.title,
      description: tool.describe,
      inputSchema,
      outputSchema: tool.output === undefined ? undefined : toJsonSchema(tool.output, "output", `${where}, output`),
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
    }),
    act: new Act({
      action: ref,
      ref,
      does,
      when: tool.when,
      choices: tool.choices,
      input: tool.input === undefined ? noArguments : compileInput(tool.input, inputSchema, `${where}, input`),
      output: tool.output === undefined ? undefined : compileCheck(tool.output, `${where}, output`),
      secret: tool.secret,
      confirm: tool.confirm,
    }),
  };
}

export function compileResource(kind: string, name: string, resource: AnyResource): Compiled {
  const ref: OfferRef = `resources/${name}`;
  const where = `${kind}: ${ref}`;
  checkOfferName(name, where);
  // {alias} is the cast's to fill.
  const variables = templateVariables(resource.uri, where, "alias");
  declared(Object.keys(resource.choices ?? {}), variables, where);
  const [variable] = variables;
  if (resource.listed === true && (variables.length !== 1 || variable === undefined || resource.choices?.[variable] === undefined))
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where} is \`listed\` by what its variable may be: give its URI one variable, and \`choices\` for that.`,
    );
  const { reads } = resource;
  if (reads !== undefined && (!isTexts(reads) || reads.length === 0))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`reads\` names members of the state, one at least, or is absent.`);
  const definition = defined(
    {
      ...(variables.length === 0 ? { uri: resource.uri } : { uriTemplate: resource.uri }),
      name: resource.name ?? name,
      title: resource.title,
      description: resource.describe,
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
      // What its variables may be is of other members: a value that goes takes its content along.
      ...(reads !== undefined && resource.choices === undefined && { reads: [...reads] }),
    }),
    act: new Act({
      action: ref,
      ref,
      does: doesOf(
        { view: reads === undefined ? resource.view.bind(resource) : (state, ctx) => resource.view(members(state, reads), ctx) },
        where,
      ),
      when: resource.when,
      choices: resource.choices,
      input: variables.length === 0 ? noArguments : texts(variables, variables),
    }),
  };
}

// What it does not name is not there to be shown: nobody would be told that it has changed.
function members(given: unknown, names: readonly string[]): object {
  const seen: Record<string, unknown> = {};
  const state = frozenOf(given);
  if (typeof state === "object" && state !== null)
    for (const name of names) if (Object.hasOwn(state, name)) setOwn(seen, name, Reflect.get(state, name));
  return readOnly(Object.freeze(seen));
}

export function compilePrompt(kind: string, name: string, prompt: AnyPrompt): Compiled {
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
  declared(Object.keys(prompt.choices ?? {}), names, where);
  if (schema !== undefined) choosable(Object.keys(prompt.choices ?? {}), propertiesOf(schema), where);
  const definition = defined(
    {
      title: prompt.title,
      description: prompt.describe,
      // An empty list that was written down is shown as it is.
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
    act: new Act({
      action: ref,
      ref,
      does: doesOf({ view: prompt.view.bind(prompt) }, where),
      when: prompt.when,
      choices: prompt.choices,
      input,
    }),
  };
}

/** Exactly one of `run`, `view` and `work`, bound to its definition; throws `BAD_DEFINITION`. */
export function doesOf(acts: Pick<AnyTool, "run" | "view" | "work">, where: string): Act["does"] {
  const { run, view, work } = acts;
  if (run !== undefined && view === undefined && work === undefined) return { how: "run", run: run.bind(acts) };
  if (view !== undefined && run === undefined && work === undefined) return { how: "view", view: view.bind(acts) };
  if (work !== undefined && run === undefined && view === undefined) return { how: "work", work: work.bind(acts) };
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where} must have exactly one of \`run\` (a turn), \`view\` (a read) and \`work\` (what waits).`,
  );
}

function noArguments(): { readonly value: unknown } {
  return NONE;
}
const NONE = Object.freeze({ value: Object.freeze({}) });

/** Arguments that are all text, of these names. */
function texts(names: readonly string[], required: readonly string[]): Check {
  return (value) => {
    if (typeof value !== "object" || value === null)
      return required.length === 0 ? NONE : { issues: [{ path: "", message: `${required.join(", ")} must be given` }] };
    const given: Record<string, unknown> = {};
    for (const name of names) {
      const text: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
      if (text === undefined && !required.includes(name)) continue;
      if (typeof text !== "string") return { issues: [{ path: name, message: text === undefined ? "is required" : "must be text" }] };
      given[name] = text;
    }
    return { value: given };
  };
}

/** A prompt's arguments travel as text: what the schema wants as number or boolean is read from it. */
function fromText(schema: Bag, check: Check): Check {
  const types = new Map<string, Json>();
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const type = isBag(property) ? property["type"] : undefined;
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

function argumentsOf(schema: Bag): readonly PromptArgument[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const title = isBag(property) ? property["title"] : undefined;
    const description = isBag(property) ? property["description"] : undefined;
    return {
      name,
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      required: required.includes(name),
    };
  });
}

function namesOf(schema: Bag): readonly string[] | undefined {
  // A union or a reference keeps its names elsewhere: nothing to compare with.
  return isBag(schema["properties"]) ? Object.keys(schema["properties"]) : undefined;
}

function propertiesOf(schema: Bag): Bag {
  return isBag(schema["properties"]) ? schema["properties"] : {};
}

function declared(used: readonly string[], names: readonly string[] | undefined, where: string): void {
  const stray = names === undefined ? undefined : used.find((name) => !names.includes(name));
  if (stray !== undefined)
    throw new TroupeError("BAD_DEFINITION", `${where} speaks of the argument ${JSON.stringify(stray)}, which its input does not have.`);
}

function defined(entries: Readonly<Record<string, unknown>>, where: string): Bag {
  const json = plain(entries, `${where}, definition`, "BAD_DEFINITION");
  checkScopes(entries["_meta"], where);
  return isBag(json) ? json : {};
}
