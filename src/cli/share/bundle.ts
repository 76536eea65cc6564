// Owns: `troupe bundle`: the files of an MCP bundle, and the archive. Does not own: its manifest (manifest.ts), which packages it needs (packages.ts).
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, dirname, extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type * as rolldownPackage from "rolldown";
import { type Zippable, zipSync } from "fflate";
import type { JsonObject } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { replaceFile, whyUnwritable } from "../files.ts";
import { optionalPackage, PROGRAM } from "../installed-packages.ts";
import { load, locateModule, release, splitPrefix, withPath } from "../load-modules.ts";
import { holdOutput, oneLine, output, paint } from "../output.ts";
import { dependenciesOf, filesOf, includedFiles, inProject, type Root } from "./bundle-files.ts";
import { bundleManifest, hasAuthor } from "./manifest.ts";
import { checkVariables, type Project, readProject } from "./project.ts";

export interface BundleOptions {
  readonly out?: string;
  readonly name?: string;
  readonly include?: readonly string[];
  readonly env?: readonly string[];
  readonly config?: string | false;
  readonly json?: boolean;
}

/** Clients unpack a bundle in memory, too. */
const MOST_BYTES = 256 * 1_024 * 1_024;

/** The same files make the same archive. Zip knows no time before. */
const EPOCH = new Date("1980-01-01T12:00:00Z");

const TROUPE = dirname(dirname(PROGRAM));

/** By their path in the archive. */
type Files = Map<string, Uint8Array>;

const tooLarge = (): CommandError =>
  new CommandError(
    EXIT.failed,
    "FAILED",
    "The bundle would be larger than 256 MiB. Install rolldown in the project: it takes only the code that is used.",
  );

const copy = (files: Files, from: string, to: string): void => {
  if (statSync(from).size > MOST_BYTES) throw tooLarge();
  files.set(to, readFileSync(from));
};

/** This Troupe, and what it depends on. */
const addTroupe = (files: Files): void => {
  if (!existsSync(join(TROUPE, "dist/cli/main.js")))
    throw usage(`The Troupe in ${TROUPE} is not built: run npm run build there, or use the package of npm.`);
  for (const file of filesOf(TROUPE))
    // The command's own bundle is all that runs: it stands for whatever a module imports of Troupe.
    if (/^(?:package\.json|LICENSE|bin\/.*|dist\/(?:cli|mud)\/.*)$/.test(file))
      copy(files, join(TROUPE, file), `node_modules/troupe/${file}`);
};

const addPackages = (files: Files, roots: readonly Root[]): void => {
  for (const { from, to } of dependenciesOf(roots)) for (const file of filesOf(from)) copy(files, join(from, file), `${to}/${file}`);
};

const isRolldown = (loaded: unknown): loaded is typeof rolldownPackage =>
  typeof loaded === "object" && loaded !== null && "rolldown" in loaded && typeof loaded.rolldown === "function";

/** The code of all modules and of what they import, in few files. Returns where each module is. */
const addBundled = async (
  files: Files,
  { rolldown }: typeof rolldownPackage,
  modules: readonly string[],
  folder: string,
): Promise<readonly string[]> => {
  const names = modules.map((module, index) => (modules.length === 1 ? "index" : `${index + 1}-${basename(module, extname(module))}`));
  const build = await rolldown({
    cwd: folder,
    input: Object.fromEntries(names.map((name, index) => [name, modules[index] ?? ""])),
    platform: "node",
    external: /^(?:node:|troupe(?:\/|$))/,
    logLevel: "silent",
  });
  try {
    const { output: chunks } = await build.generate({ format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" });
    for (const chunk of chunks) {
      const contents = chunk.type === "chunk" ? chunk.code : chunk.source;
      files.set(`server/${chunk.fileName}`, typeof contents === "string" ? Buffer.from(contents) : contents);
    }
  } finally {
    await build.close();
  }
  return names.map((name) => `server/${name}.js`);
};

/** The files that were loaded, as they are, and the packages that the project depends on. */
const addFiles = (
  files: Files,
  loaded: ReadonlySet<string>,
  { folder, manifest }: Project,
  modules: readonly string[],
): readonly string[] => {
  for (const file of loaded) copy(files, file, inProject(file, folder));
  const { name, version, type, imports, dependencies } = manifest;
  files.set("package.json", Buffer.from(JSON.stringify({ name, version, private: true, type, imports, dependencies }, null, 2)));
  return modules.map((file) => inProject(file, folder));
};

/** Loads the modules, so that what cannot be served is not bundled, and returns the project's own files that this needed. */
const loadedFiles = async (project: Project): Promise<ReadonlySet<string>> => {
  const files = new Set<string>();
  const hooks = registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:")) files.add(realpathSync(fileURLToPath(url)));
      return next(url, context);
    },
  });
  const held = holdOutput();
  try {
    const loaded = await load(project.modules);
    release(loaded);
    for (const file of loaded.files) files.add(realpathSync(file));
  } finally {
    hooks.deregister();
    held.release();
  }
  const own = ["bin", "dist", "src"].map((part) => join(TROUPE, part) + sep);
  return new Set([...files].filter((file) => !file.includes(`${sep}node_modules${sep}`) && !own.some((part) => file.startsWith(part))));
};

/** Settings of the project that a server on stdio has, too. */
const KEPT = ["title", "as", "scope", "names", "lists", "legacyLists", "pageSize", "receipts", "grace", "log"];

const flagsOf = (settings: JsonObject): readonly string[] =>
  KEPT.flatMap((name) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const value = settings[name];
    if (value === true) return [flag];
    if (isTexts(value)) return value.flatMap((one) => [flag, one]);
    return typeof value === "string" || typeof value === "number" ? [flag, String(value)] : [];
  });

const archive = (files: Files): Uint8Array => {
  let bytes = 0;
  const entries: Zippable = {};
  for (const path of [...files.keys()].toSorted()) {
    const contents = files.get(path) ?? new Uint8Array();
    bytes += contents.length;
    entries[path] = [contents, { mtime: EPOCH, level: 9 }];
  }
  if (bytes > MOST_BYTES) throw tooLarge();
  return zipSync(entries);
};

/** The client replaces `__dirname` by where it unpacked the bundle. */
const inside = (path: string): string => `\${__dirname}/${path}`;

/** Makes an MCP bundle of the project's modules, which a client installs and starts over stdio. */
export const bundle = async (module: string | undefined, options: BundleOptions): Promise<void> => {
  const out = output(options);
  const { include = [], env: variables = [] } = options;
  checkVariables(variables);
  const { out: _, include: __, env: ___, json: ____, ...given } = options;
  const project = await readProject({ ...given, ...(module === undefined ? {} : { module }) }, true);
  const { folder, name, settings } = project;
  const modules = project.modules.map((one) => realpathSync(locateModule(splitPrefix(one).path)));
  const included = includedFiles(include, folder, project.apiKeys);
  out.note("Loading the modules …");
  const loaded = await loadedFiles(project);
  const files: Files = new Map();
  addTroupe(files);
  const found = modules.some((file) => /\.ya?ml$/.test(file)) ? undefined : (await optionalPackage("rolldown", folder))?.loaded;
  const bundled = isRolldown(found);
  out.note(bundled ? "Bundling their code with rolldown …" : "Copying their files and packages …");
  const places = isRolldown(found) ? await addBundled(files, found, modules, folder) : addFiles(files, loaded, project, modules);
  if (bundled)
    files.set("package.json", Buffer.from(JSON.stringify({ name, version: project.version, private: true, type: "module" }, null, 2)));
  // Its own packages first: those of Troupe make room for them.
  const roots = bundled || !existsSync(join(folder, "package.json")) ? [] : [{ from: folder, to: "" }];
  addPackages(files, [...roots, { from: TROUPE, to: "node_modules/troupe" }]);
  for (const [path, file] of included) copy(files, file, path);
  const native = [...files.keys()].some((path) => path.endsWith(".node"));
  const manifest = bundleManifest(project, {
    entryPoint: "node_modules/troupe/bin/troupe.js",
    args: [
      inside("node_modules/troupe/bin/troupe.js"),
      "serve",
      ...places.map((path, index) => withPath(project.modules[index] ?? "", () => inside(path))),
      "--no-config",
      "--stdio",
      // Outside of the bundle, which the client replaces with the next version.
      "--data",
      `\${HOME}/.troupe/${name}`,
      "--name",
      name,
      "--server-version",
      project.version,
      ...flagsOf(settings),
    ],
    variables,
    ...(native ? { platform: process.platform } : {}),
  });
  files.set("manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  const zip = archive(files);
  const file = resolve(options.out ?? `${name}.mcpb`);
  try {
    replaceFile(file, zip, 0o644);
  } catch (error) {
    throw new CommandError(EXIT.failed, "FAILED", `${file} cannot be written: ${whyUnwritable(error)}.`);
  }
  const sha256 = createHash("sha256").update(zip).digest("hex");
  if (!hasAuthor(project)) out.note("package.json names no author, so the bundle names the server instead.");
  if (native) out.note(`The bundle holds native code, so it is for ${process.platform} only.`);
  out.show({ file, bytes: zip.length, files: files.size, sha256, bundled, manifest }, () =>
    [
      `${paint("bold", oneLine(file))}: ${files.size} files, ${(zip.length / 1_000_000).toFixed(1)} MB, SHA-256 ${sha256}`,
      "Open it with Claude Desktop, or another client of MCP bundles, to install it. It needs Node 24 there.",
    ].join("\n"),
  );
};
