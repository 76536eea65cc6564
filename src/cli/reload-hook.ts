import { registerHooks } from "node:module";

/**
 * Modules are cached by their URL: a round in it imports a module, and whatever
 * files of the author it imports in turn, anew.
 */
export const reloadRounds = (): { next(): number } => {
  let round = 0;
  const own = new URL("../../", import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (round === 0 || !resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/") || resolved.url.includes("?"))
        return resolved;
      // The sources of this installation stay as they are; its examples are an author's files.
      if (resolved.url.startsWith(`${own}src/`) || resolved.url.startsWith(`${own}dist/`)) return resolved;
      return { ...resolved, url: `${resolved.url}?round=${round}` };
    },
  });
  return { next: () => (round += 1) };
};
