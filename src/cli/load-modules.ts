// Owns: importing the modules that are served: what they export, and why one cannot be loaded. Does not own: serving them (server/).
import { existsSync, statSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Capability } from "../bridges/packet/index.ts";
import { type Behaviour, type Index, type Source, systemClock, TroupeError } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { NameStyle } from "../mcp/source/index.ts";
import { CommandError, describeFailure, EXIT, usage } from "./command-error.ts";
import { serverLog } from "./log.ts";
import { redirectStdout } from "./output.ts";
import { uncaughtError } from "./server-process.ts";

/** Whether a file may be part of what is served. A log, which this process itself may write next to a module, is not. */
export const isModuleFile = (file: string): boolean =>
  /\.([cm]?[jt]sx?|ya?ml)$/.test(file) && !/(^|[\\/])(node_modules|\.[^\\/]+)[\\/]/.test(file);

/** Splits `shop=./shop.ts`. A path that contains an equals sign needs a slash before it. */
export const splitPrefix = (module: string): { readonly prefix?: string; readonly path: string } => {
  const match = /^([A-Za-z][\w-]*)=(.+)$/.exec(module);
  return match?.[1] !== undefined && match[2] !== undefined ? { prefix: match[1], path: match[2] } : { path: module };
};

/** Changes the path of a module and keeps its prefix. */
export const withPath = (module: string, change: (path: string) => string): string => {
  const { prefix, path } = splitPrefix(module);
  return prefix === undefined ? change(path) : `${prefix}=${change(path)}`;
};

/** What one module exports. */
export interface LoadedModule {
  /** The prefix of its names, from `name=module`. */
  readonly prefix?: string;
  /** All kinds for the engine. */
  readonly kinds: readonly Behaviour[];
  /** The kinds that MCP clients see as actors; the others implement capabilities. */
  readonly cast: readonly Behaviour[];
  /** Indexes over the contents of actors of this or another module. */
  readonly indexes: readonly Index[];
  readonly capabilities: readonly Capability[];
  readonly sources: readonly Source[];
}

/** What the modules named on the command line export. */
export interface LoadedModules {
  readonly parts: readonly LoadedModule[];
  readonly name: string;
  readonly instructions?: string;
  /** Absolute paths. */
  readonly files: readonly string[];
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isBehaviour = (value: unknown): value is Behaviour =>
  isObject(value) &&
  "kind" in value &&
  typeof value.kind === "string" &&
  "receive" in value &&
  typeof value.receive === "function" &&
  "initial" in value;

const isSource = (value: unknown): value is Source =>
  isObject(value) &&
  "surface" in value &&
  typeof value.surface === "function" &&
  "act" in value &&
  typeof value.act === "function" &&
  "watch" in value;

const isIndex = (value: unknown): value is Index =>
  isObject(value) &&
  "kind" in value &&
  "fields" in value &&
  "definition" in value &&
  "includes" in value &&
  typeof value.includes === "function";

const isCapability = (value: unknown): value is Capability =>
  isObject(value) &&
  "intent" in value &&
  "requires" in value &&
  "does" in value &&
  isObject(value.does) &&
  "how" in value.does &&
  typeof value.does.how === "string";

const INDEX = ["index.ts", "index.mts", "index.js", "index.mjs"];

/** The file of a module: the path itself, or the index file of a folder. */
export const locateModule = (path: string): string => {
  const absolute = resolve(path);
  if (path === "" || !existsSync(absolute))
    throw usage(
      `There is no ${path === "" ? "module without a name" : path}: name a TypeScript or JavaScript file, a folder with an index.ts, or a world (.yaml).`,
    );
  if (!statSync(absolute).isDirectory()) return absolute;
  const index = INDEX.map((name) => join(absolute, name)).find((file) => existsSync(file));
  if (index === undefined) throw usage(`The folder ${path} has no ${INDEX.join(", ")}: name the file that exports the actors.`);
  return index;
};

/** Imports a file; `round` above 0 imports it again. */
export const importModule = async (file: string, round: number): Promise<Readonly<Record<string, unknown>>> => {
  const url = `${pathToFileURL(file).href}${round > 0 ? `?round=${round}` : ""}`;
  using loading = recordScripts();
  try {
    const module: unknown = await failIfStuck(file, import(url));
    return isObject(module) ? { ...module } : {};
  } catch (error) {
    if (error instanceof CommandError || error instanceof TroupeError) throw error;
    throw loadFailure(file, error, loading);
  }
};

/** Fails if a module awaits a promise that never settles: Node would end with its own exit code. */
const failIfStuck = async <T>(file: string, loading: Promise<T>): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const stuck = (): void =>
    reject(new CommandError(EXIT.failed, "FAILED", `${file} never finished loading: it awaits what nothing settles.`));
  process.once("beforeExit", stuck);
  try {
    return await Promise.race([loading, promise]);
  } finally {
    process.off("beforeExit", stuck);
  }
};

// Not a literal in the import, or the compiler would include the examples in the sources.
const MUD: string = "troupe/mud";

const importWorld = async (file: string): Promise<Readonly<Record<string, unknown>>> => {
  const mud: unknown = await import(MUD);
  if (!isObject(mud) || !("serveWorld" in mud) || typeof mud.serveWorld !== "function")
    throw usage("This installation has no MUD to serve a world with.");
  const served: unknown = await mud.serveWorld(file);
  return isObject(served) ? { ...served } : {};
};

/** The exported values with their names. A value that is exported twice, by name and as default, counts once. */
const exported = (module: Readonly<Record<string, unknown>>): ReadonlyMap<unknown, string | undefined> => {
  const names = new Map<unknown, string | undefined>();
  for (const [name, value] of Object.entries(module)) {
    if (Array.isArray(value)) for (const one of value) names.set(one, names.get(one));
    else names.set(value, name === "default" ? names.get(value) : name);
  }
  return names;
};

/** Options for sources made of exported services. */
export interface ServiceSettings {
  readonly names?: NameStyle;
  /** Called with errors inside a service. */
  readonly onFault?: (error: unknown) => void;
}

/** Imported on demand, since few modules export a service. */
const agenticSource = async (value: unknown, name: string | undefined, settings: ServiceSettings): Promise<readonly Source[]> => {
  if (!isObject(value)) return [];
  const { fromAgenticService, isAgenticService } = await import("../bridges/agentic/index.ts");
  if (!isAgenticService(value)) return [];
  return [fromAgenticService(value, { ...settings, ...omitUndefined({ name }) })];
};

/** Disposes of its sources, except those that `stillUsed` has too: an unchanged file gives the same source again. */
export const release = ({ parts }: LoadedModules, stillUsed?: LoadedModules): void => {
  const stay = new Set(stillUsed?.parts.flatMap(({ sources }) => sources));
  for (const { sources } of parts) for (const source of sources) if (!stay.has(source) && isDisposable(source)) source[Symbol.dispose]();
};

const isDisposable = (value: object): value is Disposable => Symbol.dispose in value && typeof value[Symbol.dispose] === "function";

/** The kinds that implement capabilities. */
export const capabilityActors = (capabilities: readonly Capability[]): readonly Behaviour[] =>
  capabilities.flatMap(({ does }) => (does.how === "actor" && does.own === undefined ? [does.behaviour] : []));

/** The indexes, each once, though several modules may export it. */
export const indexesOf = ({ parts }: Pick<LoadedModules, "parts">): readonly Index[] => [
  ...new Set(parts.flatMap(({ indexes }) => indexes)),
];

/** Imports the modules; `round` above 0 imports them again. */
export const load = async (modules: readonly string[], round = 0, services: ServiceSettings = {}): Promise<LoadedModules> => {
  const parts: LoadedModule[] = [];
  const files: string[] = [];
  const instructions: string[] = [];
  let name: string | undefined;
  for (const named of modules) {
    const { prefix, path } = splitPrefix(named);
    const file = locateModule(path);
    files.push(file);
    const module = /\.ya?ml$/.test(extname(file)) ? await importWorld(file) : await importModule(file, round);
    const cast: Behaviour[] = [];
    const indexes: Index[] = [];
    const capabilities: Capability[] = [];
    const sources: Source[] = [];
    for (const [value, exportedAs] of exported(module)) {
      if (isBehaviour(value)) cast.push(value);
      else if (isIndex(value)) indexes.push(value);
      else if (isCapability(value)) capabilities.push(value);
      else if (isSource(value)) sources.push(value);
      else
        sources.push(...(await agenticSource(value, exportedAs, prefix === undefined ? services : { names: "underscores", ...services })));
    }
    if (cast.length + indexes.length + capabilities.length + sources.length === 0)
      throw usage(`${path} exports nothing to serve: export an actor (actor("name", {…})), a capability, a source, or an AgenticService.`);
    parts.push({
      kinds: [...cast, ...capabilityActors(capabilities)],
      cast,
      indexes,
      capabilities,
      sources,
      ...omitUndefined({ prefix }),
    });
    if (typeof module["instructions"] === "string") instructions.push(module["instructions"]);
    if (typeof module["name"] === "string") name ??= module["name"];
    name ??= basename(file).startsWith("index.") ? basename(resolve(file, "..")) : basename(file, extname(file));
  }
  return { parts, files, name: name ?? "troupe", ...(instructions.length > 0 ? { instructions: instructions.join("\n\n") } : {}) };
};

/** Registered once: a command may act on thousands of actors. */
let thrown: Promise<unknown> | undefined;

/** Loads modules for one command. What they print, and errors outside of turns, go to standard error, as with a server. */
export const withModules = async <T>(
  modules: readonly string[],
  { json }: { readonly json?: boolean },
  use: (loaded: LoadedModules) => Promise<T>,
): Promise<T> => {
  const redirected = redirectStdout();
  thrown ??= uncaughtError(
    serverLog("info", json === true, () => systemClock.now()),
    true,
  );
  const uncaught = thrown.then(() => {
    throw new CommandError(
      EXIT.failed,
      "STRAY_ERROR",
      "A module threw outside of every turn, so the command has ended before it was done: what was committed stays.",
    );
  });
  try {
    return await Promise.race([load(modules).then(use), uncaught]);
  } finally {
    redirected.release();
  }
};

/** At most this many files are parsed again to find a syntax error. */
const MOST_CHECKED = 50;

/** The author's JavaScript files that were loaded, oldest first. */
interface ScriptRecord extends Disposable {
  readonly scripts: readonly string[];
}

/** Records them until disposal: Node's syntax errors do not name the file. */
const recordScripts = (): ScriptRecord => {
  const scripts: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      if (/^file:.*\.[cm]?js(?:$|\?)/.test(url) && !url.includes("/node_modules/")) scripts.push(fileURLToPath(url));
      return next(url, context);
    },
  });
  return { scripts, [Symbol.dispose]: () => hooks.deregister() };
};

/** The error for a module that could not be loaded: why, where, and what to do. */
const loadFailure = (file: string, error: unknown, { scripts }: ScriptRecord): CommandError => {
  const { code, message } = describeFailure(error);
  const place = error instanceof Error ? (placeIn(error, code) ?? syntaxErrorPlace(error, scripts)) : undefined;
  return new CommandError(
    EXIT.failed,
    code,
    `${file} cannot be loaded: ${message}${remedy(code, message, place ?? file)}${place === undefined ? "" : ` (${place})`}`,
  );
};

const ENDINGS = [".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"];

const remedy = (code: string, message: string, place: string): string => {
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
    return ": leave it out, since Node only takes types away, or serve the JavaScript it compiles to";
  if (message.startsWith("Cannot use import statement outside a module"))
    return /\.c[jt]s(?::\d+)*$/.test(place)
      ? ": rename the file, since files that end in .cjs or .cts have no imports"
      : ': write "type": "module" in the nearest package.json (npm pkg set type=module)';
  if (code === "ERR_IMPORT_ATTRIBUTE_MISSING") return ': import it with { type: "json" }';
  const pack = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (pack !== undefined) return `: install it there (npm install ${pack})`;
  if (code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return ": import one of the names its `exports` has";
  const missing = /^Cannot find module '([^']+)'/.exec(message)?.[1] ?? "";
  const ending = ENDINGS.find((one) => extname(missing) === "" && existsSync(missing + one));
  return ending === undefined ? "" : `: an import names the whole file, with ${ending}`;
};

/** Errors whose message names the importing file. */
const LOOKED_FOR = new Set(["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_IMPORT_ATTRIBUTE_MISSING"]);

/** The line above a stack if a file could not be parsed or linked, and a frame of the stack. */
const HEAD = /^(?<path>(?:file:\/\/)?\/.+?)(?:\?round=\d+)?(?<at>:\d+)$/;
const FRAME = /^ +at (?:.*? \()?(?<path>(?:file:\/\/)?\/.+?)(?:\?round=\d+)?(?<at>:\d+:\d+)\)?$/;

/** The place of an error, which only the stack has: `/path/shop.ts:3:7`. */
const placeIn = ({ stack = "", message }: Error, code: string): string | undefined => {
  if (LOOKED_FOR.has(code)) return undefined;
  for (const line of stack.replace(message, "").split("\n")) {
    const { path, at } = (HEAD.exec(line) ?? FRAME.exec(line))?.groups ?? {};
    if (path !== undefined) return `${path.startsWith("file:") ? fileURLToPath(path) : path}${at ?? ""}`;
  }
  return undefined;
};

/** The place of a syntax error, `/path/shop.js:3`. Node prints it for the main script only, so another Node process checks the files. */
const syntaxErrorPlace = (error: Error, scripts: readonly string[]): string | undefined => {
  if (!(error instanceof SyntaxError) || error.stack?.includes("compileSourceTextModule") !== true) return undefined;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  for (const script of new Set(scripts.slice(-MOST_CHECKED).toReversed())) {
    const { status, stderr } = spawnSync(process.execPath, ["--check", script], { encoding: "utf8" });
    const place = /^(\/.+:\d+)$/m.exec(stderr)?.[1];
    if (status !== 0 && place !== undefined) return place;
  }
  return undefined;
};
