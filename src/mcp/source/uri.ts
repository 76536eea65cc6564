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
