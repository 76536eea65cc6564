// Owns: the state of a page that belongs in its address, so that a link leads to the same view. Does not own: which pages there are.
import { useLocation, useSearch } from "wouter-preact";
import { BASE } from "./base-path.ts";

type Set = (value: string, how?: { readonly push?: boolean }) => void;

/** One parameter of the address's query. Setting it replaces the entry in the tab's history, unless `push`. */
export function useParameter(name: string, otherwise = ""): readonly [value: string, set: Set] {
  const [, navigate] = useLocation();
  // Only to be drawn again: it decodes the query, and `%2541` would become `A`.
  useSearch();
  const value = new URLSearchParams(location.search).get(name) ?? otherwise;
  const set: Set = (next, { push = false } = {}) => {
    // Read now, not when the page was drawn: two parameters may be set one after the other.
    const params = new URLSearchParams(location.search);
    if (next === otherwise) params.delete(name);
    else params.set(name, next);
    const text = params.toString();
    // `~`: the path is whole already. The router's own is decoded, and would not lead to a key with a `%`.
    navigate(`~${location.pathname}${text === "" ? "" : `?${text}`}`, { replace: !push });
  };
  return [value, set];
}

/** The id of the actor whose page is open, `kind/key`, as the API writes it: the router decodes some of a path, browsers encode some. */
export function useActorId(): string {
  useLocation();
  const [kind = "", key = ""] = location.pathname.slice(`${BASE}/actors/`.length).split("/");
  try {
    return `${kind}/${encodeURIComponent(decodeURIComponent(key))}`;
  } catch {
    return `${kind}/${key}`;
  }
}
