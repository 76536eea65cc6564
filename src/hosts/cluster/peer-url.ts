/** A node's url in its one form, `http://host:port`. Undefined: not one. Nodes speak HTTP/2 in cleartext, so https is none either. */
export function peerUrl(text: unknown): string | undefined {
  if (typeof text !== "string" || text.length > 512 || !URL.canParse(text)) return undefined;
  const { protocol, username, password, pathname, search, hash, hostname, origin } = new URL(text);
  const plain = protocol === "http:" && username === "" && password === "" && pathname === "/" && search === "" && hash === "";
  return plain && hostname !== "" ? origin : undefined;
}
