// Owns: `troupe bundle`: the files of an MCP bundle, its manifest (github.com/modelcontextprotocol/mcpb, MANIFEST.md 0.3) and the archive.
// Does not own: which packages and files it needs (bundle-files.ts), what the project is (project.ts).
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import type { Zippable } from "fflate";
import type * as rolldownPackage from "rolldown";
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { isTexts, omitUndefined } from "../../core/contract/internal.ts";
import { dependenciesOf, filesOf, includedFiles, inProject, peersOf, type Root } from "../bundle-files.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { replaceFile, whyUnwritable } from "../files.ts";
import { optionalPackage, PACKAGE } from "../installed-packages.ts";
import { load, locateModule, release, splitPrefix, withPath } from "../load-modules.ts";
import { redirectStdout, oneLine, output, paint, shellWord } from "../output.ts";
import { checkVariables, collect } from "../option-parsers.ts";
import type { Project } from "../project.ts";

interface BundleOptions {
  readonly out?: string;
  readonly name?: string;
  readonly include?: readonly string[];
  readonly env?: readonly string[];
  readonly config?: string | false;
  readonly json?: boolean;
}

export const register = (program: Command): void => {
  addProjectOptions(
    program
      .command("bundle")
      .description("Make an MCP bundle (.mcpb), which a client such as Claude Desktop installs and starts.")
      .argument("[module]", "what is served (default: the modules of the project's settings)")
      .option("--out <file>", "where to write it (default: <name>.mcpb)")
      .option("--name <name>", "of the bundle (default: of the settings, package.json or the module)")
      .option("--include <path>", "a file or folder that the code reads at run time; repeatable", collect)
      .option("--env <variable>", "an environment variable that the client asks its user for; repeatable", collect),
  ).action(bundle);
};

/** What commands about the project around the current folder have in common. */
export const addProjectOptions = (command: Command): Command =>
  command
    .addOption(new Option("--config <file>", "the project's settings (default: troupe.config.ts here or in the nearest folder above)"))
    .addOption(new Option("--no-config", "without them"))
    .option("--json", "one JSON value per line");

/** Clients unpack a bundle in memory, too. */
const MOST_BYTES = 256 * 1_024 * 1_024;

/** The earliest time of a zip file: the same files give the same archive. */
const EPOCH = new Date("1980-01-01T12:00:00Z");

/** Files by their path in the archive. */
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

/** Adds this Troupe. */
const addTroupe = (files: Files): void => {
  if (!existsSync(join(PACKAGE, "dist/cli/main.js")))
    throw usage(`The Troupe in ${PACKAGE} is not built: run npm run build there, or use the package of npm.`);
  for (const file of filesOf(PACKAGE))
    // Only the bundled command runs: modules' imports of Troupe resolve to it too.
    if (/^(?:package\.json|LICENSE|bin\/.*|dist\/(?:cli|mud)\/.*)$/.test(file))
      copy(files, join(PACKAGE, file), `node_modules/troupe/${file}`);
};

const addPackages = (files: Files, roots: readonly Root[]): void => {
  for (const { from, to } of dependenciesOf(roots)) for (const file of filesOf(from)) copy(files, join(from, file), `${to}/${file}`);
};

const isRolldown = (loaded: unknown): loaded is typeof rolldownPackage =>
  typeof loaded === "object" && loaded !== null && "rolldown" in loaded && typeof loaded.rolldown === "function";

/** Where a member of `import.meta` is in a source. */
interface MetaMember {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** Those below a node of a syntax tree. */
const metaMembers = (node: unknown): readonly MetaMember[] => {
  if (Array.isArray(node)) return node.flatMap(metaMembers);
  if (!isJsonObject(node)) return [];
  const { type, object, property, start, end } = node;
  const isMeta = type === "MemberExpression" && isJsonObject(object) && object["type"] === "MetaProperty" && isJsonObject(property);
  if (!isMeta || typeof start !== "number" || typeof end !== "number") return Object.values(node).flatMap(metaMembers);
  const name = property["name"] ?? property["value"];
  return typeof name === "string" ? [{ start, end, name }] : [];
};

const isSource = (moduleType: string): moduleType is "js" | "jsx" | "ts" | "tsx" => /^[jt]sx?$/.test(moduleType);

/** Bundled code is in another folder than its sources, while what it reads by `import.meta` is where it was. */
const sourcePlaces = (folder: string): rolldownPackage.Plugin => ({
  name: "source-places",
  transform(code, file, { moduleType }) {
    if (!file.startsWith(realpathSync(folder) + sep) || file.includes(`${sep}node_modules${sep}`)) return null;
    if (!isSource(moduleType) || !code.includes("import.meta")) return null;
    const place = inProject(file, folder).split("/").map(encodeURIComponent).join("/");
    const url = `new URL("../${place}", import.meta.url)`;
    const path = `process.getBuiltinModule("node:url").fileURLToPath(${url})`;
    const values = new Map([
      ["url", `${url}.href`],
      ["filename", path],
      ["dirname", `process.getBuiltinModule("node:path").dirname(${path})`],
    ]);
    let changed = "";
    let from = 0;
    for (const { start, end, name } of metaMembers(this.parse(code, { lang: moduleType })).toSorted((a, b) => a.start - b.start)) {
      const value = values.get(name);
      if (value === undefined) continue;
      changed += code.slice(from, start) + value;
      from = end;
    }
    return from === 0 ? null : changed + code.slice(from);
  },
});

/** Adds the code of all modules and of their imports, in few files. Returns the file of each module. */
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
    plugins: [sourcePlaces(folder)],
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

/** Adds the loaded files as they are, and the packages that the project depends on. */
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

interface Loaded {
  /** The project's own files. */
  readonly own: ReadonlySet<string>;
  readonly hasCapabilities: boolean;
}

/** Loads the modules, to bundle nothing that cannot be served. */
const loadModules = async (project: Project): Promise<Loaded> => {
  const files = new Set<string>();
  let hasCapabilities = false;
  const hooks = registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:")) files.add(realpathSync(fileURLToPath(url)));
      return next(url, context);
    },
  });
  const held = redirectStdout();
  try {
    const loaded = await load(project.modules);
    release(loaded);
    hasCapabilities = loaded.parts.some(({ capabilities }) => capabilities.length > 0);
    for (const file of loaded.files) files.add(realpathSync(file));
  } finally {
    hooks.deregister();
    held.release();
  }
  const troupe = ["bin", "dist", "src"].map((part) => join(PACKAGE, part) + sep);
  const own = [...files].filter((file) => !file.includes(`${sep}node_modules${sep}`) && !troupe.some((part) => file.startsWith(part)));
  return { own: new Set(own), hasCapabilities };
};

/** Settings of the project that also apply to a server on stdio. */
const SHARED_SETTINGS = ["title", "as", "scope", "names", "lists", "legacyLists", "pageSize", "receipts", "grace", "log"];

const flagsOf = (settings: JsonObject): readonly string[] =>
  SHARED_SETTINGS.flatMap((name) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const value = settings[name];
    if (value === true) return [flag];
    if (isTexts(value)) return value.flatMap((one) => [flag, one]);
    return typeof value === "string" || typeof value === "number" ? [flag, String(value)] : [];
  });

const archive = async (files: Files): Promise<Uint8Array> => {
  let bytes = 0;
  const entries: Zippable = {};
  for (const path of [...files.keys()].toSorted()) {
    const contents = files.get(path) ?? new Uint8Array();
    bytes += contents.length;
    entries[path] = [contents, { mtime: EPOCH, level: 9 }];
  }
  if (bytes > MOST_BYTES) throw tooLarge();
  return (await import("fflate")).zipSync(entries);
};

/** The client replaces `__dirname` with the folder of the unpacked bundle. */
const inBundle = (path: string): string => `\${__dirname}/${path}`;

/** Makes an MCP bundle of the project's modules, which a client installs and starts over stdio. */
const bundle = async (module: string | undefined, options: BundleOptions): Promise<void> => {
  const out = output(options);
  const { include = [], env: variables = [] } = options;
  checkVariables(variables);
  const { out: _, include: __, env: ___, json: ____, ...given } = options;
  const { readProject } = await import("../project.ts");
  const project = await readProject({ ...given, ...(module === undefined ? {} : { module }) }, true);
  const { folder, name, settings } = project;
  const modules = project.modules.map((one) => realpathSync(locateModule(splitPrefix(one).path)));
  out.note("Loading the modules …");
  const { own, hasCapabilities } = await loadModules(project);
  const packetConfig = hasCapabilities ? project.packetConfig : undefined;
  if (packetConfig !== undefined && !include.some((path) => resolve(path) === resolve(packetConfig))) await refuseSecretsIn(packetConfig);
  const included = includedFiles([...include, ...(packetConfig === undefined ? [] : [packetConfig])], folder, project.apiKeys);
  const files: Files = new Map();
  addTroupe(files);
  const found = modules.some((file) => /\.ya?ml$/.test(file)) ? undefined : (await optionalPackage("rolldown", folder))?.loaded;
  const bundled = isRolldown(found);
  out.note(bundled ? "Bundling their code with rolldown …" : "Copying their files and packages …");
  const places = isRolldown(found) ? await addBundled(files, found, modules, folder) : addFiles(files, own, project, modules);
  if (bundled)
    files.set("package.json", Buffer.from(JSON.stringify({ name, version: project.version, private: true, type: "module" }, null, 2)));
  // The project's packages first: they get the places at the top. Troupe itself imports its optional peers, also where code is bundled.
  const only = bundled ? { only: peersOf(PACKAGE) } : {};
  const roots = existsSync(join(folder, "package.json")) ? [{ from: folder, to: "", ...only }] : [];
  addPackages(files, [...roots, { from: PACKAGE, to: "node_modules/troupe" }]);
  for (const [path, file] of included) copy(files, file, path);
  const native = [...files.keys()].some((path) => path.endsWith(".node"));
  const manifest = bundleManifest(project, {
    entryPoint: "node_modules/troupe/bin/troupe.js",
    args: [
      inBundle("node_modules/troupe/bin/troupe.js"),
      "serve",
      ...places.map((path, index) => withPath(project.modules[index] ?? "", () => inBundle(path))),
      "--no-config",
      "--stdio",
      // Outside the bundle, which the client replaces with the next version.
      "--data",
      `\${HOME}/.troupe/${name}`,
      "--name",
      name,
      "--server-version",
      project.version,
      ...flagsOf(settings),
      ...(packetConfig === undefined ? [] : ["--packet-config", inBundle(inProject(realpathSync(packetConfig), folder))]),
    ],
    variables,
    ...(native ? { platform: process.platform } : {}),
  });
  files.set("manifest.json", Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  const zip = await archive(files);
  const file = resolve(options.out ?? `${name}.mcpb`);
  try {
    replaceFile(file, zip, 0o644);
  } catch (error) {
    throw new CommandError(EXIT.failed, "FAILED", `${file} cannot be written: ${whyUnwritable(error)}.`);
  }
  const sha256 = createHash("sha256").update(zip).digest("hex");
  if (!hasAuthor(project)) out.note("package.json names no author, so the bundle names the server instead.");
  if (packetConfig !== undefined)
    out.note(`The bundle holds ${packetConfig}, which everybody who has it can read: let it name no secrets.`);
  if (native) out.note(`The bundle holds native code, so it is for ${process.platform} only.`);
  out.show({ file, bytes: zip.length, files: files.size, sha256, bundled, manifest }, () =>
    [
      `${paint("bold", oneLine(file))}: ${files.size} files, ${(zip.length / 1_000_000).toFixed(1)} MB, SHA-256 ${sha256}`,
      "Open it with Claude Desktop, or another client of MCP bundles, to install it. It needs Node 24 there.",
    ].join("\n"),
  );
};

/** Throws `USAGE` if the file has values that other servers are sent: everybody who has the bundle could read them. */
const refuseSecretsIn = async (packetConfig: string): Promise<void> => {
  const { readConfigFile } = await import("../server/packets.ts");
  const secrets = Object.entries(readConfigFile(packetConfig).mcp.servers).flatMap(([name, server]) => {
    const [what, values = {}] = server.command === undefined ? (["headers", server.headers] as const) : (["env", server.env] as const);
    return Object.keys(values).length === 0 ? [] : [`${name} (${what})`];
  });
  if (secrets.length > 0)
    throw usage(
      `${packetConfig} has values for ${secrets.join(", ")}, which everybody who has the bundle could read. Take them out; or, if none is secret, say so with --include ${shellWord(packetConfig)}.`,
    );
};

/** How the client starts the server. */
interface Launch {
  readonly entryPoint: string;
  readonly args: readonly string[];
  /** Environment variables that the client asks its user for. */
  readonly variables: readonly string[];
  /** Native code is for this platform only. */
  readonly platform?: NodeJS.Platform;
}

const isUrl = (text: string | undefined): text is string => text !== undefined && URL.canParse(text);

/** `Ann <ann@example.com> (https://ann.example)`, or an object. */
const authorOf = (value: Json | undefined): JsonObject | undefined => {
  const parts = typeof value === "string" ? /^([^<(]+)(?:<([^>]*)>)?\s*(?:\(([^)]*)\))?/.exec(value) : undefined;
  const object: JsonObject = parts
    ? omitUndefined({ name: parts[1]?.trim(), email: parts[2], url: parts[3] })
    : isJsonObject(value)
      ? value
      : {};
  const { name, email, url } = object;
  if (typeof name !== "string" || name === "") return undefined;
  return {
    name,
    ...(typeof email === "string" && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email) ? { email } : {}),
    ...(typeof url === "string" && isUrl(url) ? { url } : {}),
  };
};

const hasAuthor = ({ manifest }: Project): boolean => authorOf(manifest["author"]) !== undefined;

/** The name of an environment variable in the manifest's user_config. */
const settingOf = (variable: string): string => variable.toLowerCase();

/** The manifest of a bundle that starts Troupe over stdio. */
export const bundleManifest = (project: Project, { entryPoint, args, variables, platform }: Launch): JsonObject => {
  const { manifest, name, title, version, description, homepage, repository } = project;
  const { keywords, license } = manifest;
  return {
    manifest_version: "0.3",
    name,
    display_name: title ?? name,
    version,
    description: description ?? `The MCP server ${name}.`,
    author: authorOf(manifest["author"]) ?? { name },
    ...(repository === undefined ? {} : { repository: { type: "git", url: repository } }),
    ...omitUndefined({ homepage }),
    server: {
      type: "node",
      entry_point: entryPoint,
      mcp_config: {
        command: "node",
        args: [...args],
        ...(variables.length === 0
          ? {}
          : { env: Object.fromEntries(variables.map((variable) => [variable, `\${user_config.${settingOf(variable)}}`])) }),
      },
    },
    // Tools depend on the state, so a fixed list would become wrong.
    tools_generated: true,
    prompts_generated: true,
    ...(isTexts(keywords) && keywords.length > 0 ? { keywords: [...keywords] } : {}),
    ...(typeof license === "string" ? { license } : {}),
    compatibility: { ...(platform === undefined ? {} : { platforms: [platform] }), runtimes: { node: ">=24.0.0" } },
    ...(variables.length === 0
      ? {}
      : {
          user_config: Object.fromEntries(
            variables.map((variable) => [
              settingOf(variable),
              { type: "string", title: variable, description: `The server reads it from ${variable}.`, sensitive: true, required: true },
            ]),
          ),
        }),
  };
};
