import { existsSync, statSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Behaviour, type Index, type Source, TroupeError } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { Capability } from "../bridges/packet/index.ts";
import type { NameStyle } from "../mcp/source/index.ts";
import { CommandError, EXIT, usage } from "./exit-code.ts";
import { loadFailure, noteScripts } from "./load-failure.ts";
import { splitPrefix } from "./module-file.ts";

/** What one module exports. */
export interface Part {
  /** `name=module`: its names are put under it. */
  readonly prefix?: string;
  /** All that an engine runs. */
  readonly kinds: readonly Behaviour[];
  /** Of these, those that MCP clients meet as actors; the others are what stands behind capabilities. */
  readonly cast: readonly Behaviour[];
  /** Over the contents of actors, of this or another module. */
  readonly indexes: readonly Index[];
  readonly capabilities: readonly Capability[];
  readonly sources: readonly Source[];
}

/** What the modules named on the command line export. */
export interface Loaded {
  readonly parts: readonly Part[];
  readonly name: string;
  readonly instructions?: string;
  /** Absolute paths, to watch and to note. */
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
  isObject(value) && "kind" in value && "fields" in value && "definition" in value && "rowOf" in value && typeof value.rowOf === "function";

const isCapability = (value: unknown): value is Capability =>
  isObject(value) &&
  "intent" in value &&
  "requires" in value &&
  "does" in value &&
  isObject(value.does) &&
  "how" in value.does &&
  typeof value.does.how === "string";

const INDEX = ["index.ts", "index.mts", "index.js", "index.mjs"];

/** A file, or the index of a folder. */
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

/** Imports `path`; `round` above 0 imports it anew. */
export const importModule = async (file: string, round: number): Promise<Readonly<Record<string, unknown>>> => {
  const url = `${pathToFileURL(file).href}${round > 0 ? `?round=${round}` : ""}`;
  using loading = noteScripts();
  try {
    const module: unknown = await unlessStuck(file, import(url));
    return isObject(module) ? { ...module } : {};
  } catch (error) {
    if (error instanceof CommandError || error instanceof TroupeError) throw error;
    throw loadFailure(file, error, loading);
  }
};

/** A module may await what nothing settles. Then nothing is left to do, and Node would end with a code of its own. */
const unlessStuck = async <T>(file: string, loading: Promise<T>): Promise<T> => {
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

// Not a literal in the import, or the compiler would take the examples for a part of the sources.
const MUD: string = "troupe/mud";

const importWorld = async (file: string): Promise<Readonly<Record<string, unknown>>> => {
  const mud: unknown = await import(MUD);
  if (!isObject(mud) || !("serveWorld" in mud) || typeof mud.serveWorld !== "function")
    throw usage("This installation has no MUD to serve a world with.");
  const served: unknown = await mud.serveWorld(file);
  return isObject(served) ? { ...served } : {};
};

/** By value, each with the name it is exported under: two exports of one value (a default beside a name) count once. */
const exported = (module: Readonly<Record<string, unknown>>): ReadonlyMap<unknown, string | undefined> => {
  const names = new Map<unknown, string | undefined>();
  for (const [name, value] of Object.entries(module)) {
    if (Array.isArray(value)) for (const one of value) names.set(one, names.get(one));
    else names.set(value, name === "default" ? names.get(value) : name);
  }
  return names;
};

/** How a service that a module exports is made a source. */
export interface ServiceSettings {
  readonly names?: NameStyle;
  /** Hears of what fails inside it. */
  readonly onFault?: (error: unknown) => void;
}

/** Few modules export a service, so what makes a source of one is loaded for those alone. */
const agenticSource = async (value: unknown, name: string | undefined, settings: ServiceSettings): Promise<readonly Source[]> => {
  if (!isObject(value)) return [];
  const { fromAgenticService, isAgenticService } = await import("../bridges/agentic/index.ts");
  if (!isAgenticService(value)) return [];
  return [fromAgenticService(value, { ...settings, ...omitUndefined({ name }) })];
};

/** Lets go of what its sources listen to. A file that has not changed gives the same source again: what is `kept` stays. */
export const release = ({ parts }: Loaded, kept?: Loaded): void => {
  const stay = new Set(kept?.parts.flatMap(({ sources }) => sources));
  for (const { sources } of parts) for (const source of sources) if (!stay.has(source) && isDisposable(source)) source[Symbol.dispose]();
};

const isDisposable = (value: object): value is Disposable => Symbol.dispose in value && typeof value[Symbol.dispose] === "function";

/** The actors of capabilities. */
export const behindCapabilities = (capabilities: readonly Capability[]): readonly Behaviour[] =>
  capabilities.flatMap(({ does }) => (does.how === "actor" && does.own === undefined ? [does.behaviour] : []));

/** Each once, though several modules may export it. */
export const indexesOf = ({ parts }: Pick<Loaded, "parts">): readonly Index[] => [...new Set(parts.flatMap(({ indexes }) => indexes))];

/** Imports the modules; a `round` above 0 imports them anew. */
export const load = async (modules: readonly string[], round = 0, services: ServiceSettings = {}): Promise<Loaded> => {
  const parts: Part[] = [];
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
      kinds: [...cast, ...behindCapabilities(capabilities)],
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
