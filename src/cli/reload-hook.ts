import { registerHooks } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export interface Rounds {
  /** From now on modules are imported anew. */
  next(): number;
  /** Of every file of the author's that was imported so far, also of one that could not be parsed. */
  folders(): ReadonlySet<string>;
}

/**
 * Modules are cached by their URL: a round in it imports a module, and whatever
 * files of the author it imports in turn, anew.
 */
export const reloadRounds = (): Rounds => {
  let round = 0;
  const folders = new Set<string>();
  const own = new URL("../../", import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (!resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/")) return resolved;
      // The sources of this installation stay as they are; its examples are an author's files.
      if (resolved.url.startsWith(`${own}src/`) || resolved.url.startsWith(`${own}dist/`)) return resolved;
      folders.add(dirname(fileURLToPath(resolved.url)));
      return round === 0 || resolved.url.includes("?") ? resolved : { ...resolved, url: `${resolved.url}?round=${round}` };
    },
  });
  return { next: () => (round += 1), folders: () => folders };
};
