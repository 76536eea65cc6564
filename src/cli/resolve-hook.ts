import { lstatSync, readFileSync } from "node:fs";
import { type LoadFnOutput, registerHooks, type ResolveFnOutput, type ResolveHookContext } from "node:module";
import { fileURLToPath } from "node:url";

/** A file beside the one that imports it, or in a folder around it, by its whole name. */
const RELATIVE = /^\.{1,2}\/[\w./-]+\.js$/;
const BESIDE = /^\.\/[\w-][\w.-]*$/;

const folderOf = (url: string): string => url.slice(0, url.lastIndexOf("/") + 1);

/**
 * Where the ES modules of installed packages are, and what is in them.
 *
 * For each import of each module Node looks for links and for a package.json, which takes as long as all the rest of loading
 * it. But from one folder a relative name leads to one place, whoever asks; and what lies
 * beside an ES module shares its package.json, so it is one too. All else is asked of Node.
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
      return this.#noted(next(specifier, context));
    const folder = folderOf(parentURL);
    const name = `${folder}${specifier}`;
    let place = this.#places.get(name);
    if (place === undefined) {
      place = { ...(besides(folder, specifier) ?? next(specifier, context)), shortCircuit: true };
      this.#noted(place);
      this.#places.set(name, place);
    }
    return place;
  }

  /** What is where it is without being looked for. */
  known(url: string): ResolveFnOutput {
    return this.#noted({ url, format: "module", shortCircuit: true });
  }

  load(url: string): LoadFnOutput | undefined {
    if (!this.#modules.has(url)) return undefined;
    return { format: "module", source: readFileSync(fileURLToPath(url), "utf8"), shortCircuit: true };
  }

  #noted(place: ResolveFnOutput): ResolveFnOutput {
    const { url, format } = place;
    if (format === "module" && url.startsWith("file:") && url.endsWith(".js") && url.includes("/node_modules/")) this.#modules.add(url);
    return place;
  }
}

/** A link beside it may lead into another package. */
const besides = (folder: string, specifier: string): ResolveFnOutput | undefined => {
  if (!BESIDE.test(specifier)) return undefined;
  const url = `${folder}${specifier.slice(2)}`;
  return lstatSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() === true ? { url, format: "module" } : undefined;
};

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
