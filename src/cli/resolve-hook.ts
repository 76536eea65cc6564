import { registerHooks } from "node:module";

/**
 * A served module's `import "troupe"` means the Troupe that serves it, wherever
 * the module lies: two copies would not know each other's refusals and errors.
 * Returns its undo.
 */
export const resolveToThisTroupe = (): (() => void) => {
  const sources = import.meta.url.endsWith(".ts");
  const entry = (subpath: string): string => {
    if (subpath === "/mud") return new URL(sources ? "../../examples/mud/index.ts" : "../mud/index.js", import.meta.url).href;
    return new URL(`..${subpath}/index.${sources ? "ts" : "js"}`, import.meta.url).href;
  };
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const match = /^troupe(\/[a-z]+)?$/.exec(specifier);
      if (match === null) return next(specifier, context);
      return { url: entry(match[1] ?? ""), shortCircuit: true };
    },
  });
  return () => hooks.deregister();
};
