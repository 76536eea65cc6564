// Owns: what a viewer may do and see, as types; which arguments an offer names. Does not own: deciding it (core/actor, mcp/source), whether
// arguments fit (core/schema).
import type { ActorId } from "./actor.ts";
import type { TroupeError } from "./errors.ts";
import { isJsonObject, isList, type Json, type JsonObject } from "./json.ts";

/** The three lists of MCP. Names are unique within one, not across them. */
export type ListName = "tools" | "resources" | "prompts";

/** One offer of a surface: `tools/pick_up`, `prompts/start`, `resources/state`. */
export type OfferRef = `${ListName}/${string}`;

/** Whether a call may become a task. "required": only for clients that support tasks. */
export type TaskSupport = "optional" | "required";

/** Definitions: immutable, and compared by identity, since compiled validators and serialised lists are cached by it. */
export interface Catalogue {
  readonly tools: readonly Offer[];
  readonly resources: readonly Offer[];
  readonly prompts: readonly Offer[];
  /**
   * Prefix → kinds of actors whose surfaces may be linked there. Absent on a surface with `links`: not known in advance, so never served
   * "static".
   */
  readonly links?: Readonly<Record<string, readonly string[]>>;
  /**
   * Prefix of a link by argument → the argument, of each offer joined there, that names the key of the actor. A link that is not here leads
   * to one actor.
   */
  readonly linkArguments?: Readonly<Record<string, string>>;
  /** What is missing, and why: one of several sources is unavailable, or (`BAD_NAME`) an offer has a name that no client could use. */
  readonly missing?: readonly TroupeError[];
}

/**
 * `definition` is the entry of the MCP list in its newest shape, without `name`
 * for tools and prompts; a resource's has `uri` (fixed) or `uriTemplate` (RFC 6570
 * level 1, and `{+path}`). The gateway removes members that an older revision does not have.
 */
export interface Offer {
  readonly name: string;
  readonly definition: { readonly [key: string]: Json };
  /** What the actor receives or views. */
  readonly action: string;
  readonly readOnly: boolean;
  /**
   * The source checks the arguments of this tool and reports what is wrong. `"misfits"`: only those that do not match `inputSchema`, since
   * the source accepts more than that. Absent: the gateway checks, by `inputSchema`.
   */
  readonly checksArguments?: boolean | "misfits";
  /**
   * A template of any level, whose source receives the value of each expression as it is in the URI, still encoded, keyed by the
   * expression's own text (`+path`, `?q,page`). Absent: `{id}` and `{+path}`, keyed by name, decoded.
   */
  readonly rawVariables?: boolean;
  /**
   * Several sources may have this offer, with the same name and URI: it is listed once, and the sources are tried in order, since each
   * answers `UNKNOWN` for what is not its own. Absent: two offers of one name are an error.
   */
  readonly shared?: boolean;
  /** A template of one variable: each of its choices is listed as a resource, too. */
  readonly listed?: boolean;
  /**
   * A call of this tool may become a task: a client that supports tasks receives one unless the call is done at once. "required": other
   * clients are refused; "optional": they wait. Absent: all clients wait.
   */
  readonly task?: TaskSupport;
  /** Arguments that are never stored or shown to operators. Clients do not see which they are. */
  readonly secret?: readonly string[];
  /**
   * The members of the actor's state that the content of this resource depends on: subscribers are not notified of changes to others.
   * Absent: all members.
   */
  readonly reads?: readonly string[];
}

/** What a viewer may do and see now. Pure. */
export interface Surface {
  readonly catalogue: Catalogue;
  /** Unavailable offers, with the reason, or true if the author gave none. */
  readonly off: Readonly<Record<OfferRef, string | true>>;
  /** Argument → allowed values: listed as `enum`, completed, checked in the turn, never compiled. */
  readonly choices?: Readonly<Record<OfferRef, Readonly<Record<string, readonly string[]>>>>;
  /** Prefix ("" for none) → the linked actor, whose surface is added; a cast is a viewer's links. */
  readonly links?: Readonly<Record<string, ActorId>>;
  /** Prefix of a link by argument that is on → the keys this viewer may address there now; true: those of all actors that it may address. */
  readonly linkKeys?: Readonly<Record<string, readonly string[] | true>>;
  /** Prefix → why nothing is linked there now: calls to its offers are refused with that reason. A prefix in neither is not mentioned. */
  readonly linksOff?: Readonly<Record<string, string>>;
}

/** Keywords of JSON Schema, but for combined schemas, that allow members which `properties` does not name. */
const OPEN_KEYWORDS = [
  "patternProperties",
  "unevaluatedProperties",
  "propertyNames",
  "dependentSchemas",
  "dependencies",
  "not",
  "if",
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
];
const COMBINED = ["allOf", "anyOf", "oneOf"];

/** Whether a schema allows members that neither its `properties` nor the schemas it combines name. `additionalProperties` is not considered. */
export const hasOpenKeyword = (schema: JsonObject): boolean => OPEN_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword));

/** Whether a schema names a member, in its own `properties` or in those of a schema that it combines. */
export const namesMember = (schema: Json | undefined, name: string): boolean =>
  isJsonObject(schema) &&
  ((isJsonObject(schema["properties"]) && Object.hasOwn(schema["properties"], name)) ||
    COMBINED.some((keyword) => {
      const parts = schema[keyword];
      return isList(parts) && parts.some((part) => namesMember(part, name));
    }));

/** The arguments that an offer names; null: it may take others too. */
export function argumentNames({ definition }: Offer): ReadonlySet<string> | null {
  const schema = definition["inputSchema"];
  const properties = isJsonObject(schema) ? schema["properties"] : undefined;
  if (!isJsonObject(schema) || !isJsonObject(properties) || hasOpenKeyword(schema)) return null;
  if (["additionalProperties", ...COMBINED].some((keyword) => Object.hasOwn(schema, keyword))) return null;
  return new Set(Object.keys(properties));
}

const NO_ARGUMENTS: JsonObject = Object.freeze({});

/**
 * Drops arguments that the offer does not name: its actor would ignore them, and its chain would store them forever. No arguments are one
 * frozen object for all calls, since a turn freezes its arguments, which takes time.
 */
export function namedArguments(names: ReadonlySet<string> | null, args: Json): Json {
  if (!isJsonObject(args)) return args;
  if (names?.size === 0) return NO_ARGUMENTS;
  let any = false;
  for (const name in args) {
    if (names?.has(name) === false) return Object.fromEntries(Object.entries(args).filter(([one]) => names.has(one)));
    any = true;
  }
  return any ? args : NO_ARGUMENTS;
}
