// Owns: names and URIs of offers, joined and checked. Does not own: names of sources (source-description.ts).

import { TroupeError, type ListName } from "../../core/contract/index.ts";

/** How names of joined surfaces are put together, and which are let through. */
export interface Names {
  readonly separator: string;
  /** What every tool's and prompt's name must match. */
  readonly pattern: RegExp;
}

/** The default: `child.look`, as MCP's tool names allow since 2025-11-25. */
export const dotted: Names = { separator: ".", pattern: /^[A-Za-z0-9_.-]{1,128}$/ };

/** For clients that hand names to models which know letters, digits, `_` and `-` only: `child__look`, at most 64 characters. */
export const strict: Names = { separator: "__", pattern: /^[A-Za-z0-9_-]{1,64}$/ };

/** `prefix` and `name` with the separator between; an empty prefix leaves the name alone. */
export function joinName(names: Names, prefix: string, name: string): string {
  if (prefix === "") return name;
  if (name === "") return prefix;
  return prefix.endsWith(names.separator) ? prefix + name : prefix + names.separator + name;
}

const RESOURCE_NAME = /^[^\p{Cc}]{1,256}$/u;

/** Throws `BAD_NAME` where a client could not call the offer. Resources are asked for by URI: their names are only bounded. */
export function checkName(names: Names, list: ListName, name: string, whose: string): void {
  const pattern = list === "resources" ? RESOURCE_NAME : names.pattern;
  if (pattern.test(name)) return;
  throw new TroupeError(
    "BAD_NAME",
    `${whose} offers ${list}/${JSON.stringify(name)}, which does not match ${String(pattern)}: rename it or shorten its prefix.`,
  );
}

const URI = /^([A-Za-z][A-Za-z0-9+.-]*:)(\/\/)?(.*)$/s;
// Of these the authority means a host, which a segment must not displace.
const HOSTED = new Set(["http:", "https:", "ws:", "wss:", "ftp:", "file:"]);

/** The URI with one more first segment: `game://player/state` → `game://SEGMENT/player/state`. The segment is written as given. */
export function withSegment(uri: string, segment: string): string {
  const match = URI.exec(uri);
  if (match === null) return `${segment}/${uri}`;
  const [, scheme = "", slashes = "", rest = ""] = match;
  if (slashes !== "" && HOSTED.has(scheme.toLowerCase())) {
    const slash = rest.indexOf("/");
    const host = slash === -1 ? rest : rest.slice(0, slash);
    const path = slash === -1 ? "" : rest.slice(slash);
    return `${scheme}//${host}/${segment}${path}`;
  }
  return `${scheme}${slashes}${segment}/${rest}`;
}

/** Puts `alias` for every `{alias}`. */
export function fillAlias(uri: string, alias: string): string {
  return uri.replaceAll("{alias}", () => alias);
}

/** The URI or template of a resource's definition; "" where it has none. */
export function uriOf(definition: { readonly [key: string]: unknown }): string {
  const uri = definition["uri"] ?? definition["uriTemplate"];
  return typeof uri === "string" ? uri : "";
}
