// Owns: `index()`: what an author writes to find actors by their contents, and its checks. Does not own: maintaining an index
// (core/engine), its queries (core/contract).
import { type Behaviour, type Frozen, type Index, type IndexVisibility, TroupeError, type Viewer } from "../contract/index.ts";
import { INDEX_LIMITS, omitUndefined } from "../contract/internal.ts";
import { checkOfferName } from "./names.ts";
import { checkProperties, requireProperties } from "./validate-definition.ts";

/** Members of an index's items that are not picked. */
type Reserved = "id" | "key";

/** Members of a state that are strings or lists of strings, absent ones included. */
type TextIn<S> = { [N in keyof S & string]: Exclude<S[N], undefined | null> extends string | readonly string[] ? N : never }[keyof S &
  string];

/** Members of a state that are strings, absent ones included. */
type StringIn<S> = { [N in keyof S & string]: Exclude<S[N], undefined | null> extends string ? N : never }[keyof S & string];

/** What authors write. `S` is the state of the kind, `F` the picked members. */
export interface IndexDefinition<S, F extends keyof S & string> {
  /** Unique in a server: `[a-z][a-z0-9-]{0,63}`. Default: made of the URI, or the kind's name. */
  readonly name?: string;
  /** Which actors are in it. Pure: rows are computed again when the index is rebuilt. Absent: all. */
  readonly where?: (context: { readonly state: Frozen<S>; readonly key: string }) => boolean;
  /** The members of the state that its rows have: what clients see, filter by and order by. At most 16. */
  readonly pick: readonly Exclude<F, Reserved>[];
  /** The picked member that orders it. Absent: the order of keys. */
  readonly order?: NoInfer<Exclude<F, Reserved>>;
  /**
   * The members of the state whose words queries can look for: strings and lists of strings, which need not be picked. At most 16, and
   * 32,768 characters of an actor. Absent: there is no full text.
   */
  readonly text?: readonly NoInfer<TextIn<S>>[];
  /**
   * Who sees its rows. `everyone`; `owner`: the principal that owns the actor; `{ principal: "reporter" }`: the principal in the picked
   * member `reporter`; or a function, which shows all rows or none. Default: `owner` if the kind has `owner: "starter"` or `per: "user"`,
   * otherwise `everyone`.
   */
  readonly visible?: IndexVisibility<NoInfer<Extract<F, StringIn<S>>>>;
  /** Where clients read and subscribe to its first page, for example `incidents://open`. Absent: it is no resource. */
  readonly uri?: string;
  /** Clients can query it with this tool; `true`: named like the index. Absent: there is no tool. */
  readonly tool?: boolean | string;
  readonly title?: string;
  readonly description?: string;
  /** Increase it when a function that `where` calls changes, so that the index is rebuilt. Default 1. */
  readonly version?: number;
}

type PickedFrom<S, F extends keyof S> = { readonly [N in F]: Frozen<S[N]> };

interface AnyIndexDefinition {
  readonly name?: string;
  readonly where?: (context: { readonly state: unknown; readonly key: string }) => unknown;
  readonly pick: readonly string[];
  readonly order?: string;
  readonly text?: readonly string[];
  readonly visible?: string | { readonly principal: string } | ((context: { readonly viewer: Viewer }) => boolean);
  readonly uri?: string;
  readonly tool?: boolean | string;
  readonly title?: string;
  readonly description?: string;
  readonly version?: number;
}

const NAME = /^[a-z][a-z0-9-]{0,63}$/u;
/** Of how rows are made of states: a new number rebuilds all indexes. */
const FORMAT = 3;

/**
 * An index over the actors of a kind, by members of their states. Export it next to the kind, or pass it to `LocalEngine.start`. Throws
 * `BAD_DEFINITION` or `BAD_NAME`.
 *
 * @example
 * ```ts
 * import { actor, index } from "troupe";
 * import * as z from "zod";
 *
 * export const task = actor("task", {
 *   description: "A task.",
 *   state: z.object({ title: z.string().default(""), done: z.boolean().default(false) }),
 * });
 * export const open = index(task, { where: ({ state }) => !state.done, pick: ["title"], order: "title", uri: "tasks://open" });
 * ```
 */
export function index<S extends object, const F extends keyof S & string>(
  kind: Behaviour<S>,
  definition: IndexDefinition<S, F>,
): Index<PickedFrom<S, F>>;
export function index(kind: Behaviour, definition: AnyIndexDefinition): object {
  const where = `index of ${kind.kind}`;
  checkProperties(where, definition, {
    name: "text",
    where: "a function",
    pick: "a list",
    order: "text",
    text: "a list",
    visible: "text or an object or a function",
    uri: "text",
    tool: "text or a boolean",
    title: "text",
    description: "text",
    version: "a number",
  });
  requireProperties(where, definition, ["pick"], 'the members of the state that its rows have, as in pick: ["title", "status"]');
  const { order, uri, title, description, version = 1 } = definition;
  const fields = checkedFields(where, "pick", definition.pick);
  if (fields.includes("id") || fields.includes("key"))
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`pick\` cannot have id or key, which every item has: rename the member of the state.`,
    );
  if (order !== undefined && !fields.includes(order))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`order\` is one of the picked members: ${fields.join(", ")}.`);
  const text = definition.text && checkedFields(where, "text", definition.text);
  const visible = checkedVisibility(where, kind, fields, definition.visible);
  const name = definition.name ?? (uri === undefined ? kind.kind : nameIn(uri));
  if (!NAME.test(name))
    throw new TroupeError("BAD_NAME", `${where}: ${JSON.stringify(name)} is no name for an index: give \`name\`, of a-z, 0-9 and -.`);
  if (uri !== undefined && !/^[a-z][a-z0-9+.-]*:[^\s{}]+$/iu.test(uri))
    throw new TroupeError("BAD_DEFINITION", `${where}: \`uri\` is a URI without variables, as in incidents://open.`);
  const tool = definition.tool === true ? name : definition.tool === false ? undefined : definition.tool;
  if (tool !== undefined) checkOfferName(tool, where);
  const source = definition.where;
  return Object.freeze({
    name,
    kind: kind.kind,
    fields,
    ...omitUndefined({ order, text }),
    // The text of `where` is only a hint that rows may differ. What is rebuilt too often costs time, and is never wrong.
    definition: JSON.stringify([
      FORMAT,
      kind.kind,
      kind.version,
      fields,
      order ?? null,
      text ?? null,
      source === undefined ? null : String(source),
      version,
    ]),
    visible,
    ...omitUndefined({ uri, tool, title, description }),
    includes: source === undefined ? () => true : (state, key) => isIncluded(name, source({ state, key })),
  } satisfies Index);
}

function isIncluded(name: string, answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw new TroupeError("OUT_OF_ORDER", `\`where\` of the index ${name} must return true or false, not ${typeof answer}.`);
}

function checkedFields(where: string, property: string, given: readonly unknown[]): readonly string[] {
  const fields = given.filter((field) => typeof field === "string");
  const isValid = fields.length === given.length && new Set(fields).size === fields.length && fields.every((field) => field !== "");
  if (!isValid || fields.length === 0 || fields.length > INDEX_LIMITS.fields)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${where}: \`${property}\` is a list of 1 to ${INDEX_LIMITS.fields} different names of members.`,
    );
  return Object.freeze(fields);
}

function checkedVisibility(
  where: string,
  { policy, per }: Behaviour,
  fields: readonly string[],
  visible: AnyIndexDefinition["visible"],
): IndexVisibility {
  if (visible === undefined) return policy.owner === "starter" || per === "user" ? "owner" : "everyone";
  if (visible === "everyone" || visible === "owner" || typeof visible === "function") return visible;
  if (typeof visible === "object" && Object.keys(visible).join() === "principal" && fields.includes(visible.principal))
    return Object.freeze({ principal: visible.principal });
  throw new TroupeError(
    "BAD_DEFINITION",
    `${where}: \`visible\` is "everyone", "owner", { principal: a picked member } or a function of { viewer }.`,
  );
}

const nameIn = (uri: string): string =>
  uri
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, "-")
    .replaceAll(/^-|-$/gu, "")
    .slice(0, 64);
