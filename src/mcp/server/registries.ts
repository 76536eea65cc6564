// Owns: the tools, resources and prompts of a server: how each is defined, checked and registered, and the types that follow from schemas.
// Does not own: running a handler (handler.ts), listing and calling (mcp/source).
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type Content,
  type Frozen,
  type Json,
  type JsonObject,
  type ListName,
  type TaskSupport,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { omitUndefined, setOwn, withScopes } from "../../core/contract/internal.ts";
import type { Complete, Registry, Schema } from "../source/index.ts";
import { type HandlerEnv, handling, type ServerContext } from "./handler.ts";

/** Members of all definitions: tools, resources and prompts. */
export interface Item {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** As in MCP: `{ src, mimeType?, sizes? }`. */
  readonly icons?: readonly JsonObject[];
  /** `_meta` of the list entry. */
  readonly meta?: JsonObject;
  /** Scopes that a caller's token must have; other callers are refused with a challenge. */
  readonly scopes?: readonly string[];
  /** True: enabled; text: disabled, and why; false, or an error: disabled. Called for each list and call; call `server.relist()` when it changes. */
  enabled?(context: { readonly viewer: Viewer }): boolean | string;
}

/** In the form of the registry. */
function describedBy(item: Item): Omit<Item, "name" | "scopes"> {
  const { title, description, icons, scopes } = item;
  const meta = withScopes(item.meta, scopes);
  return {
    ...omitUndefined({ title, description, icons, meta }),
    ...(item.enabled !== undefined && { enabled: item.enabled.bind(item) }),
  };
}

interface Completing {
  readonly complete?: Readonly<Record<string, Complete>>;
}

function completing(given: Readonly<Record<string, Complete | undefined>> | undefined): Completing {
  const complete: Record<string, Complete> = {};
  for (const [name, one] of Object.entries(given ?? {})) if (one !== undefined) setOwn(complete, name, one);
  return given === undefined ? {} : { complete };
}

const ITEM = ["name", "title", "description", "icons", "meta", "scopes", "enabled"];

const KNOWN: Readonly<Record<ListName, ReadonlySet<string>>> = {
  tools: new Set([...ITEM, "input", "output", "annotations", "task"]),
  resources: new Set([...ITEM, "uri", "mimeType", "annotations", "size", "list", "complete"]),
  prompts: new Set([...ITEM, "arguments", "complete"]),
};

/** Names in other libraries, for suggestions. */
const HERE: Readonly<Record<string, string>> = {
  inputSchema: "input",
  parameters: "input",
  outputSchema: "output",
  _meta: "meta",
  uriTemplate: "uri",
  describe: "description",
  when: "enabled",
  available: "enabled",
  argsSchema: "arguments",
  handler: "the handler as the second argument",
  run: "the handler as the second argument",
};

const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", why);

/** The checks of the compiler, for plain JavaScript. Throws `BAD_NAME`, `BAD_DEFINITION`. */
function checkDefinition(list: ListName, definition: unknown, handler: unknown): void {
  if (typeof definition !== "object" || definition === null) throw bad(`A definition in ${list} is an object: { name, … }.`);
  const name: unknown = Reflect.get(definition, "name");
  if (typeof name !== "string") throw new TroupeError("BAD_NAME", `A definition in ${list} has no name: give name as text.`);
  const where = `${list}/${JSON.stringify(name.slice(0, 128))}`;
  const unknown = Object.keys(definition).find((key) => !KNOWN[list].has(key));
  if (unknown !== undefined) {
    const here = Object.hasOwn(HERE, unknown) ? HERE[unknown] : undefined;
    const instead = here === undefined ? `it knows ${[...KNOWN[list]].join(", ")}` : `here it is ${here}`;
    throw bad(`${where}: there is no property ${JSON.stringify(unknown.slice(0, 60))}; ${instead}.`);
  }
  if (typeof handler !== "function") throw bad(`${where} has no handler: give a function as the second argument.`);
  const enabled: unknown = Reflect.get(definition, "enabled");
  if (enabled !== undefined && typeof enabled !== "function")
    throw bad(`${where}: enabled is a function: ({ viewer }) => true, false, or the reason it is off.`);
}

/** A list entry, as for a viewer that may see everything. */
export type Listed = JsonObject & { readonly name: string };

/** One of a server's three registries. Its items are listed to clients, which are notified of changes. */
class ItemRegistry<Register> {
  /** Notifies clients that the list has changed. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`; returns its undo. */
  readonly register: Register;
  readonly #registry: Registry;
  readonly #list: ListName;

  constructor(list: ListName, registry: Registry, register: Register) {
    this.#list = list;
    this.#registry = registry;
    this.register = register;
  }

  get size(): number {
    return this.#registry.count(this.#list);
  }

  /** In the order they were registered. */
  list(): readonly Listed[] {
    return this.#registry.catalogue({ scopes: [] })[this.#list].map(({ name, definition }) => ({ name, ...definition }));
  }

  has(name: string): boolean {
    return this.#registry.has(`${this.#list}/${name}`);
  }

  /** False: there was none. Notifies clients that the list has changed; running calls continue. */
  unregister(name: string): boolean {
    return this.#registry.remove(`${this.#list}/${name}`);
  }
}

/** A tool. Its arguments are checked against `input` before the handler runs. */
export interface ToolDefinition<S extends Schema | undefined, O extends Schema | undefined> extends Item {
  /** A Standard Schema (zod, ArkType, …) or a JSON Schema, of an object. Default: no arguments. */
  readonly input?: S;
  /** The schema of `structuredContent`. */
  readonly output?: O;
  /** Hints as in MCP: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`. */
  readonly annotations?: JsonObject;
  /**
   * For a slow tool: its call can be a task, which the client polls and can cancel (`signal`). "required": clients that do not support
   * tasks are refused; "optional": they wait for the result. Absent: every client waits.
   */
  readonly task?: TaskSupport;
}

type Returned<O> = O extends Schema ? Result<O> | Content : unknown;

/** A text becomes a text block; an object becomes `structuredContent` and its JSON as text; `content()` makes single blocks. */
export type ToolHandler<S, O> = (context: ServerContext<Arguments<S>>) => Returned<O> | Promise<Returned<O>>;

/** The tools of a server. They can be registered, changed, disabled and removed while it runs. */
export type Tools = ReturnType<typeof toolRegistry>;

export function toolRegistry(registry: Registry, env: HandlerEnv) {
  function register<const S extends Schema | undefined = undefined, const O extends Schema | undefined = undefined>(
    definition: ToolDefinition<S, O>,
    handler: ToolHandler<S, O>,
  ): () => void;
  function register(definition: ToolDefinition<Schema, Schema>, handler: (context: ServerContext<JsonObject>) => unknown): () => void {
    checkDefinition("tools", definition, handler);
    const { name, input, output, annotations, task } = definition;
    const work = handling(`tools/${name}`, env, handler, output);
    return registry.add({
      tools: { [name]: { ...describedBy(definition), ...omitUndefined({ input, output, annotations, task }), work } },
    });
  }
  return new ItemRegistry("tools", registry, register);
}

/** A resource: a fixed URI, or a template of RFC 6570 (`notes://{id}`; `files://{+path}`, which may contain slashes) whose decoded variables are the handler's `args`. */
export interface ResourceDefinition<U extends string> extends Item {
  readonly uri: U;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  /** In bytes, if it is known in advance. */
  readonly size?: number;
  /** The values of a template's only variable, each of which is listed as a resource of that name. Call `server.relist()` when they change. */
  list?(context: { readonly viewer: Viewer }): readonly string[];
  /** Values for a variable of the template. */
  readonly complete?: { readonly [K in keyof Variables<U>]?: Complete };
}

/** The variables of a template, all text. */
export type Variables<U extends string> = string extends U ? Readonly<Record<string, string>> : { readonly [K in NamesIn<U>]: string };

type NamesIn<U extends string> = U extends `${string}{${infer Name}}${infer Rest}` ? Named<Name> | NamesIn<Rest> : never;
type Named<Name extends string> = Name extends `+${infer N}` ? N : Name;

/** Text, `blob(bytes)`, an object that becomes JSON, or `contents([…])`. */
export type ResourceHandler<U extends string> = (context: ServerContext<Variables<U>>) => unknown;

/** The resources and templates of a server. They can be registered, changed and removed while it runs. */
export type Resources = ReturnType<typeof resourceRegistry>;

export function resourceRegistry(registry: Registry, env: HandlerEnv) {
  function register<const U extends string>(definition: ResourceDefinition<U>, handler: ResourceHandler<U>): () => void;
  function register(
    definition: ResourceDefinition<string>,
    handler: (context: ServerContext<Readonly<Record<string, string>>>) => unknown,
  ): () => void {
    checkDefinition("resources", definition, handler);
    const { name, uri, mimeType, annotations, size, complete } = definition;
    return registry.add({
      resources: {
        [name]: {
          ...describedBy(definition),
          uri,
          ...omitUndefined({ mimeType, annotations, size }),
          ...(definition.list !== undefined && { list: definition.list.bind(definition) }),
          ...completing(complete),
          view: handling(`resources/${name}`, env, handler),
        },
      },
    });
  }
  /** The content has changed: notifies subscribers; for a template, those of these variables, or all. Throws `BAD_NAME`. */
  const changed = (name: string, variables?: Readonly<Record<string, string>>): void => registry.changed(name, variables);
  return Object.assign(new ItemRegistry("resources", registry, register), { changed });
}

/** An argument as in MCP; its value is a text. */
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

/** The arguments of the client: texts; optional ones may be missing. */
export type PromptValues<A extends readonly PromptArgument[]> = string extends A[number]["name"]
  ? Readonly<Record<string, string>>
  : { readonly [K in Required<A>]: string } & { readonly [K in Exclude<A[number]["name"], Required<A>>]?: string };

/** A text becomes one message of the user; `messages([…])` makes several messages. */
export type PromptHandler<A extends readonly PromptArgument[]> = (context: ServerContext<PromptValues<A>>) => unknown;

/** The prompts of a server. They can be registered, changed, disabled and removed while it runs. */
export type Prompts = ReturnType<typeof promptRegistry>;

export function promptRegistry(registry: Registry, env: HandlerEnv) {
  function register<const A extends readonly PromptArgument[] = readonly []>(
    definition: PromptDefinition<A>,
    handler: PromptHandler<A>,
  ): () => void;
  function register(
    definition: PromptDefinition<readonly PromptArgument[]>,
    handler: (context: ServerContext<Readonly<Record<string, string>>>) => unknown,
  ): () => void {
    checkDefinition("prompts", definition, handler);
    const { name, arguments: known, complete } = definition;
    const view = handling(`prompts/${name}`, env, handler);
    return registry.add({
      prompts: { [name]: { ...describedBy(definition), ...omitUndefined({ arguments: known }), ...completing(complete), view } },
    });
  }
  return new ItemRegistry("prompts", registry, register);
}

type Flat<T> = { readonly [K in keyof T]: T[K] };

type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

type Properties<P, R> = Flat<
  { readonly [K in keyof P as K extends R ? K : never]: OfJsonSchema<P[K]> } & {
    readonly [K in keyof P as K extends R ? never : K]?: OfJsonSchema<P[K]>;
  }
>;

/** The type of values that are valid for a literal JSON Schema; `Json` where that cannot be expressed. */
export type OfJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: "string" }
      ? string
      : S extends { readonly type: "number" | "integer" }
        ? number
        : S extends { readonly type: "boolean" }
          ? boolean
          : S extends { readonly type: "null" }
            ? null
            : S extends { readonly type: "array"; readonly items: infer I }
              ? readonly OfJsonSchema<I>[]
              : S extends { readonly type: "array" }
                ? readonly Json[]
                : S extends { readonly properties: infer P }
                  ? Properties<P, RequiredOf<S>>
                  : S extends { readonly type: "object" }
                    ? JsonObject
                    : Json;

/** The arguments of a handler: the output of a Standard Schema, or the values that a JSON Schema allows. */
export type Arguments<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly properties: infer P }
    ? Properties<P, RequiredOf<S>>
    : JsonObject;

/** What a handler may return if its tool has an `output` schema. It may be read-only. */
export type Result<O> = O extends StandardSchemaV1 ? Frozen<StandardSchemaV1.InferInput<O>> : OfJsonSchema<O>;
