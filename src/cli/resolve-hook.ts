import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { PackageModules } from "./package-modules.ts";

const HERE = import.meta.url;
const SOURCES = HERE.endsWith(".ts");
const PACKAGE = new URL("../../", HERE);
const NAMED = /^troupe(?:\/[a-z-]+)?$/;

/** Names of this package that a module may import, and the source file of each. */
type Entries = Readonly<Record<string, { readonly "troupe-source": string }>>;

function readEntries(): Entries {
  const { exports }: { readonly exports: Entries } = JSON.parse(readFileSync(new URL("package.json", PACKAGE), "utf8"));
  return exports;
}

/** Where a name is: among the sources, or bundled with the command (`scripts/bundle-command.ts`). Undefined: there is no such name. */
function locate(entries: Entries, name: string): string | undefined {
  const key = name === "troupe" ? "." : name.replace("troupe", ".");
  const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
  if (entry === undefined) return undefined;
  if (SOURCES) return new URL(entry["troupe-source"], PACKAGE).href;
  if (key === "./mud") return new URL("dist/mud/index.js", PACKAGE).href;
  return new URL(key === "." ? "./index.js" : `${key}.js`, HERE).href;
}

/**
 * Says where this Troupe's modules are, and what is in those of packages, this one among them.
 *
 * A served module's `import "troupe"` means the Troupe that serves it, wherever the module lies: two copies would not
 * know each other's refusals and errors.
 */
export const resolveToThisTroupe = (): void => {
  const packages = new PackageModules();
  let entries: Entries | undefined;
  registerHooks({
    resolve(specifier, context, next) {
      const url = NAMED.test(specifier) ? locate((entries ??= readEntries()), specifier) : undefined;
      if (url === undefined) return packages.resolve(specifier, context, next);
      return SOURCES ? { url, format: "module-typescript", shortCircuit: true } : packages.known(url);
    },
    load: (url, context, next) => packages.load(url) ?? next(url, context),
  });
};
