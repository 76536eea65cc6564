// Owns: resolving a served module's imports: to this Troupe, and quickly in installed packages. Does not own: loading modules
// (load-modules.ts).
import { lstatSync, readFileSync } from "node:fs";
import { type LoadFnOutput, registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module";
import { fileURLToPath } from "node:url";

/** A relative path with its full file name. */
const RELATIVE = /^\.{1,2}\/[\w./-]+\.js$/;
const SIBLING = /^\.\/[\w-][\w.-]*$/;

const folderOf = (url: string): string => url.slice(0, url.lastIndexOf("/") + 1);

/**
 * Resolves and loads the ES modules of installed packages faster than Node.
 *
 * For each import Node looks for links and for a package.json, which takes as long as all the rest of loading. But a relative path from one
 * folder always leads to the same file, and files in the folder of an ES module share its package.json, so they are ES modules too. All
 * other imports are left to Node.
 */
export class PackageModules {
  /** By folder and relative name. */
  readonly #places = new Map<string, ResolveFnOutput>();
  /** URLs of files that a package.json makes ES modules. */
  readonly #modules = new Set<string>();

  resolve(
    specifier: string,
    context: ResolveHookContext,
    next: (specifier: string, context: ResolveHookContext) => ResolveFnOutput,
  ): ResolveFnOutput {
    const { parentURL } = context;
    if (parentURL === undefined || !this.#modules.has(parentURL) || !RELATIVE.test(specifier) || context.conditions.includes("require"))
      return this.#note(next(specifier, context));
    const folder = folderOf(parentURL);
    const name = `${folder}${specifier}`;
    let place = this.#places.get(name);
    if (place === undefined) {
      place = { ...(siblingFile(folder, specifier) ?? next(specifier, context)), shortCircuit: true };
      this.#note(place);
      this.#places.set(name, place);
    }
    return place;
  }

  /** A module whose place is known. */
  knownModule(url: string): ResolveFnOutput {
    return this.#note({ url, format: "module", shortCircuit: true });
  }

  load(url: string): LoadFnOutput | undefined {
    if (!this.#modules.has(url)) return undefined;
    return { format: "module", source: readFileSync(fileURLToPath(url), "utf8"), shortCircuit: true };
  }

  #note(place: ResolveFnOutput): ResolveFnOutput {
    const { url, format } = place;
    if (format === "module" && url.startsWith("file:") && url.endsWith(".js") && url.includes("/node_modules/")) this.#modules.add(url);
    return place;
  }
}

/** A file in the same folder. Not a link, whose target may be in another package. */
const siblingFile = (folder: string, specifier: string): ResolveFnOutput | undefined => {
  if (!SIBLING.test(specifier)) return undefined;
  const url = `${folder}${specifier.slice(2)}`;
  return lstatSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() === true ? { url, format: "module" } : undefined;
};

const HERE = import.meta.url;
const SOURCES = HERE.endsWith(".ts");
const PACKAGE = new URL("../../", HERE);
const OWN_SOURCES = SOURCES ? new URL("src/", PACKAGE).href : undefined;
const SOURCE_FILE = /^\.{1,2}\/[\w./-]+\.ts$/;
const NAMED = /^troupe(?:\/[a-z-]+)?$/;

/** Names of this package that a module may import, and the source file of each. */
type Entries = Readonly<Record<string, { readonly "troupe-source": string }>>;

function readEntries(): Entries {
  const { exports }: { readonly exports: Entries } = JSON.parse(readFileSync(new URL("package.json", PACKAGE), "utf8"));
  return exports;
}

/** The file of a name: in the sources, or bundled with the command (`scripts/bundle-command.ts`). Undefined for an unknown name. */
function locate(entries: Entries, name: string): string | undefined {
  const key = name === "troupe" ? "." : name.replace("troupe", ".");
  const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
  if (entry === undefined) return undefined;
  if (SOURCES) return new URL(entry["troupe-source"], PACKAGE).href;
  if (key === "./mud") return new URL("dist/mud/index.js", PACKAGE).href;
  return new URL(key === "." ? "./index.js" : `${key}.js`, HERE).href;
}

/** Resolves an import between the sources of this checkout, none of which is a link. Node's resolver would take a quarter of a command's time. */
function ownSource(specifier: string, { parentURL }: ResolveHookContext): ResolveFnOutput | undefined {
  if (OWN_SOURCES === undefined || parentURL?.startsWith(OWN_SOURCES) !== true || !SOURCE_FILE.test(specifier)) return undefined;
  return { url: new URL(specifier, parentURL).href, format: "module-typescript", shortCircuit: true };
}

/**
 * Registers the hooks that resolve `troupe` and installed packages.
 *
 * A served module's `import "troupe"` means the Troupe that serves it, wherever the module is: two copies would not recognise each other's
 * refusals and errors.
 */
export const resolveToThisTroupe = (): void => {
  const packages = new PackageModules();
  let entries: Entries | undefined;
  registerHooks({
    resolve(specifier, context, next) {
      const own = ownSource(specifier, context);
      if (own !== undefined) return own;
      const url = NAMED.test(specifier) ? locate((entries ??= readEntries()), specifier) : undefined;
      if (url === undefined) return packages.resolve(specifier, context, next);
      return SOURCES ? { url, format: "module-typescript", shortCircuit: true } : packages.knownModule(url);
    },
    load: (url, context, next) => packages.load(url) ?? next(url, context),
  });
};
