import { registerHooks } from "node:module";
import { PackageModules } from "./package-modules.ts";

const HERE = import.meta.url;
const SOURCES = HERE.endsWith(".ts");

/** Where `troupe`, or `/server` of it, is: among the sources, or bundled with the command (`scripts/bundle-command.ts`). */
const entry = (subpath: string): string => {
  if (subpath === "/mud") return new URL(SOURCES ? "../../examples/mud/index.ts" : "../mud/index.js", HERE).href;
  const name = subpath === "" ? "index" : subpath.slice(1);
  if (!SOURCES) return new URL(`${name}.js`, HERE).href;
  return new URL(subpath === "" ? "../index.ts" : `../${name}/index.ts`, HERE).href;
};

/**
 * Says where this Troupe's modules are, and what is in those of packages, this one among them.
 *
 * A served module's `import "troupe"` means the Troupe that serves it, wherever the module lies: two copies would not
 * know each other's refusals and errors.
 */
export const resolveToThisTroupe = (): void => {
  const packages = new PackageModules();
  registerHooks({
    resolve(specifier, context, next) {
      const match = /^troupe(\/[a-z-]+)?$/.exec(specifier);
      if (match === null) return packages.resolve(specifier, context, next);
      const url = entry(match[1] ?? "");
      return SOURCES ? { url, format: "module-typescript", shortCircuit: true } : packages.known(url);
    },
    load: (url, context, next) => packages.load(url) ?? next(url, context),
  });
};
