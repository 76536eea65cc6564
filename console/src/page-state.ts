// Owns: the state of a page that belongs in its address, so that a link leads to the same view. Does not own: which pages there are.
import { useLocation, useSearch } from "wouter-preact";

/** One parameter of the address's query. Setting it replaces the entry in the tab's history, unless `push`. */
export function useParameter(
  name: string,
  otherwise = "",
): readonly [value: string, set: (value: string, how?: { readonly push?: boolean }) => void] {
  const [path, navigate] = useLocation();
  const search = useSearch();
  const value = new URLSearchParams(search).get(name) ?? otherwise;
  const set = (next: string, { push = false }: { readonly push?: boolean } = {}): void => {
    // Read now, not when the page was drawn: two parameters may be set one after the other.
    const params = new URLSearchParams(location.search);
    if (next === otherwise) params.delete(name);
    else params.set(name, next);
    const text = params.toString();
    navigate(text === "" ? path : `${path}?${text}`, { replace: !push });
  };
  return [value, set];
}
