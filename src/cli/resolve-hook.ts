import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { PackageModules } from "./package-modules.ts";

const SOURCES = import.meta.url.endsWith(".ts");
const ROOT = new URL("../", import.meta.url).href;

/** Where `troupe`, or `/server` of it, is. */
const entry = (subpath: string): string => {
  if (subpath === "/mud") return new URL(SOURCES ? "../../examples/mud/index.ts" : "mud/index.js", SOURCES ? import.meta.url : ROOT).href;
  return `${ROOT}${subpath === "" ? "" : `${subpath.slice(1)}/`}index.${SOURCES ? "ts" : "js"}`;
};

/** A file of what is built: all are ES modules, and none is a link. */
const isBuilt = (url: string | undefined): boolean => !SOURCES && url?.startsWith(ROOT) === true && url.endsWith(".js");

/**
 * Says where this Troupe's modules are, and what is in them.
 *
 * A served module's `import "troupe"` means the Troupe that serves it, wherever the module lies: two copies would not
 * know each other's refusals and errors. What is built imports its own files by whole names. Node would look for links and
 * package.json beside each, which is a quarter of a start, and read each in more steps than one, a twelfth.
 */
export const resolveToThisTroupe = (): void => {
  const packages = new PackageModules();
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(".")) {
        if (!isBuilt(context.parentURL) || !specifier.endsWith(".js")) return packages.resolve(specifier, context, next);
        return { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true };
      }
      const match = /^troupe(\/[a-z]+)?$/.exec(specifier);
      if (match === null) return packages.resolve(specifier, context, next);
      return { url: entry(match[1] ?? ""), format: SOURCES ? "module-typescript" : "module", shortCircuit: true };
    },
    load(url, context, next) {
      if (!isBuilt(url)) return packages.load(url) ?? next(url, context);
      return { format: "module", source: readFileSync(fileURLToPath(url), "utf8"), shortCircuit: true };
    },
  });
};
