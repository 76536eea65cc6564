import { registerHooks } from "node:module";

const SOURCES = import.meta.url.endsWith(".ts");
const ROOT = new URL("../", import.meta.url).href;

/** Where `troupe`, or `/server` of it, is. */
const entry = (subpath: string): string => {
  if (subpath === "/mud") return new URL(SOURCES ? "../../examples/mud/index.ts" : "mud/index.js", SOURCES ? import.meta.url : ROOT).href;
  return `${ROOT}${subpath === "" ? "" : `${subpath.slice(1)}/`}index.${SOURCES ? "ts" : "js"}`;
};

/**
 * Says where this Troupe's modules are, without a look at the disk.
 *
 * A served module's `import "troupe"` means the Troupe that serves it, wherever the module lies: two copies would not
 * know each other's refusals and errors. What is built imports its own files by whole names, and all are ES modules:
 * to look for links and package.json beside each is a quarter of a start.
 */
export const resolveToThisTroupe = (): void => {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(".")) {
        if (SOURCES || context.parentURL?.startsWith(ROOT) !== true || !specifier.endsWith(".js")) return next(specifier, context);
        return { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true };
      }
      const match = /^troupe(\/[a-z]+)?$/.exec(specifier);
      if (match === null) return next(specifier, context);
      return { url: entry(match[1] ?? ""), format: SOURCES ? "module-typescript" : "module", shortCircuit: true };
    },
  });
};
