import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { PackageModules } from "./package-modules.ts";

const HERE = import.meta.url;
const SOURCES = HERE.endsWith(".ts");

/** Three folders are the package's own affair, as its `exports` say. */
const NAMED = /^troupe(\/(?!(?:cli|platform|schema)$)[a-z-]+)?$/;

/**
 * Where `troupe`, or `/server` of it, is: among the sources, or bundled with the command (`scripts/bundle-command.ts`), which has
 * files of its own beside. Undefined: the package has no such name.
 */
const entry = (subpath: string): string | undefined => {
  if (subpath === "/mud") return new URL(SOURCES ? "../../examples/mud/index.ts" : "../mud/index.js", HERE).href;
  const own = new URL(`..${subpath}/index.${SOURCES ? "ts" : "js"}`, HERE);
  if (!existsSync(own)) return undefined;
  return SOURCES ? own.href : new URL(subpath === "" ? "index.js" : `.${subpath}.js`, HERE).href;
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
      const match = NAMED.exec(specifier);
      const url = match === null ? undefined : entry(match[1] ?? "");
      if (url === undefined) return packages.resolve(specifier, context, next);
      return SOURCES ? { url, format: "module-typescript", shortCircuit: true } : packages.known(url);
    },
    load: (url, context, next) => packages.load(url) ?? next(url, context),
  });
};
