// Owns: the arguments that say which actor a call is about: a handle, and the keys of links by argument; in definitions and in
// calls. Does not own: which arguments reach the actor (contract), who may address which actor (actor-access.ts), the targets of links
// (link-graph.ts).

import {
  isJsonObject,
  type Json,
  type JsonObject,
  type ListName,
  type Offer,
  type OfferRef,
  TroupeError,
} from "../../core/contract/index.ts";
import { namesMember, templateVariables } from "../../core/contract/internal.ts";
import { refused, type Refused } from "./actor-access.ts";
import { fillAlias, uriOf, withSegment } from "./names.ts";

/** An argument that says which actor is meant. */
export interface AddressArgument {
  readonly name: string;
  readonly description: string;
}

/** The argument of offers behind a handle. */
export const handleArgument = (kind: string): AddressArgument => ({ name: "handle", description: `What start_${kind} returned.` });

/** The argument of offers behind a link by argument. */
export const keyArgument = (name: string, kind: string): AddressArgument => ({ name, description: `Which ${kind}: its key.` });

/**
 * The definition of an offer with the arguments that say which actor is meant before its own. `path`: the prefixes of the links to it,
 * where the arguments alone do not distinguish its URI from another. Throws `BAD_DEFINITION` where one has the name of its own.
 */
export function withAddress(
  list: ListName,
  offer: Offer,
  args: readonly AddressArgument[],
  path: string,
  kind: string,
): Offer["definition"] {
  const { definition } = offer;
  const taken = ({ name }: AddressArgument): TroupeError =>
    new TroupeError(
      "BAD_DEFINITION",
      `${kind}: ${list}/${offer.name} has an argument \`${name}\`, which says which actor is meant here: rename it${name === "handle" ? "" : ", or name the link's argument with `by`"}.`,
    );
  if (list === "resources") return templateOf(offer, args, path, taken);
  if (list === "prompts") {
    const own = definition["arguments"];
    const fixed: readonly Json[] = Array.isArray(own) ? own : [];
    const clash = args.find(({ name }) => fixed.some((argument) => isJsonObject(argument) && argument["name"] === name));
    if (clash !== undefined) throw taken(clash);
    return { ...definition, arguments: [...args.map((argument) => ({ ...argument, required: true })), ...fixed] };
  }
  const given = definition["inputSchema"];
  const schema: JsonObject = isJsonObject(given) ? given : { type: "object" };
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const clash = args.find(({ name }) => namesMember(schema, name));
  if (clash !== undefined) throw taken(clash);
  const required: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const address = Object.fromEntries(args.map(({ name, description }) => [name, { type: "string", description }]));
  return {
    ...definition,
    inputSchema: { ...schema, properties: { ...address, ...properties }, required: [...args.map(({ name }) => name), ...required] },
  };
}

function templateOf(
  offer: Offer,
  args: readonly AddressArgument[],
  path: string,
  taken: (argument: AddressArgument) => TroupeError,
): Offer["definition"] {
  const { uri: _uri, uriTemplate: _template, ...rest } = offer.definition;
  const text = uriOf(offer.definition);
  const own = templateVariables(text, `resources/${offer.name}`, "alias");
  const clash = args.find(({ name }) => own.includes(name));
  if (clash !== undefined) throw taken(clash);
  const variables = args.map(({ name }) => `{${name}}`).join("/");
  return {
    ...rest,
    uriTemplate: text.includes("{alias}")
      ? fillAlias(text, path === "" ? variables : `${variables}/${path}`)
      : withSegment(text, variables),
  };
}

/** Which of many actors a call is about. */
export interface Address {
  /** By argument. */
  readonly keys: ReadonlyMap<string, string>;
  /** The slots on the way to the offer: no others are looked at. */
  readonly slots: ReadonlySet<object>;
  /** Equal for two of the same offers and keys. */
  readonly text: string;
}

// In UTF-16 units. A key is at most 256 bytes.
const MAX_KEY = 256;

const isKey = (given: unknown): given is string =>
  typeof given === "string" && given !== "" && given.length <= MAX_KEY && given.isWellFormed();

/** The keys in the arguments of a call, and its other arguments; refuses with `INVALID` where one is missing, or can be no key. */
export function splitAddress(
  ref: OfferRef,
  keys: readonly AddressArgument[],
  slots: ReadonlySet<object>,
  args: Json,
): { readonly address: Address; readonly args: Json } | Refused {
  const rest: Record<string, Json> = { ...(isJsonObject(args) ? args : {}) };
  const found = new Map<string, string>();
  for (const { name, description } of keys) {
    const key = Object.hasOwn(rest, name) ? rest[name] : undefined;
    if (!isKey(key)) return refused("INVALID", `Invalid arguments: ${name}: must be text of 1 to ${MAX_KEY} bytes. ${description}`);
    found.set(name, key);
    delete rest[name];
  }
  return { address: { keys: found, slots, text: JSON.stringify([ref, ...found.values()]) }, args: rest };
}
