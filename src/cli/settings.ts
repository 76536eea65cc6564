// Owns: settings of a project: finding troupe.config.ts, and merging flags, environment and file. Does not own: the options
// (serve-options.ts).
import { lstatSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Command, CommanderError, type Option } from "commander";
import type { TroupeConfig } from "../config/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/contract/index.ts";
import { didYouMean, isTexts } from "../core/contract/internal.ts";
import { authority } from "../mcp/transport/listen.ts";
import { DEFAULT_DATA } from "./actor-options.ts";
import { CommandError, usage } from "./command-error.ts";
import { importModule, withPath } from "./load-modules.ts";
import { redirectStdout } from "./output.ts";

const NAMES = ["troupe.config.ts", "troupe.config.mts", "troupe.config.js", "troupe.config.mjs"];

/** The settings in a project's file. */
interface ConfigFile {
  readonly path: string;
  readonly settings: JsonObject;
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Searches `folder` and the folders above it, up to the root of the repository. */
export const findConfig = (folder: string): string | undefined => {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const path = NAMES.map((name) => join(at, name)).find(isFile);
    if (path !== undefined) {
      if (at !== resolve(folder)) refuseForeign(path);
      return path;
    }
    if (lstatSync(join(at, ".git"), { throwIfNoEntry: false }) !== undefined || dirname(at) === at) return undefined;
  }
};

/** A file in a folder above is run only if it belongs to the user or to root and others cannot write it. */
const refuseForeign = (path: string): void => {
  const { uid, mode } = statSync(path);
  const user = process.geteuid?.() ?? uid;
  if ((uid === user || uid === 0) && (mode & 0o002) === 0) return;
  throw usage(
    `${path} belongs to another user, or others may write it, so it is not run from a folder below it: run the command in ${dirname(path)}, name the file with --config, or give --no-config.`,
  );
};

/** Runs the file; what it prints goes to standard error. Throws a `CommandError` if it exports no settings. */
export const readConfig = async (path: string): Promise<ConfigFile> => {
  if (!isFile(path)) throw usage(`There is no file ${path}: name a troupe.config.ts with --config.`);
  const held = redirectStdout();
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await importModule(path, 0);
  } finally {
    held.release();
  }
  const { default: settings } = module;
  if (!isJsonObject(settings))
    throw usage(`${path} has no default export that is settings: export default defineConfig({ modules: "./door.ts" }).`);
  return { path, settings };
};

/** Where a setting comes from, the strongest first. */
type SettingSource = "flag" | "environment" | "file" | "default";

interface Setting {
  readonly name: string;
  readonly value: Json;
  readonly source: SettingSource;
}

/** The effective settings of a command: flags, environment and project file. */
export interface Settings {
  readonly modules: readonly string[];
  readonly file: string | undefined;
  readonly list: readonly Setting[];
}

type Property = keyof TroupeConfig;
type Shape =
  | "text"
  | "path"
  | "address"
  | "number"
  | "flag"
  | "off"
  | "on or off"
  | "texts"
  | "some texts"
  | "paths"
  | "flag or address"
  | "url or path";

/** The type of each property. Its option parses the value, so that a flag and a property mean the same. */
const SHAPES: Readonly<Record<Property, Shape>> = {
  modules: "paths",
  data: "path",
  http: "address",
  sse: "flag",
  stdio: "flag",
  tcp: "address",
  packets: "flag or address",
  packetConfig: "path",
  name: "text",
  title: "text",
  serverVersion: "text",
  as: "text",
  scope: "texts",
  names: "text",
  lists: "text",
  legacyLists: "text",
  pageSize: "number",
  receipts: "flag",
  auth: "off",
  apiKeys: "path",
  jwks: "url or path",
  issuer: "text",
  audience: "text",
  tokenType: "text",
  scopesClaim: "text",
  claims: "texts",
  resource: "text",
  requireScope: "texts",
  allowHost: "texts",
  allowOrigin: "texts",
  insecure: "flag",
  console: "on or off",
  allowEdit: "flag",
  rate: "number",
  sessionTtl: "text",
  connectionsPerPeer: "number",
  engine: "text",
  node: "address",
  advertise: "text",
  secretFile: "path",
  identityKey: "some texts",
  theater: "flag",
  theaterTcp: "address",
  manifests: "path",
  insecureNoAuth: "flag",
  telemetry: "flag",
  grace: "number",
  log: "text",
  json: "flag",
};

/** The names of the properties, for tests. */
export const PROPERTIES: readonly string[] = Object.keys(SHAPES);

const isProperty = (name: string): name is Property => Object.hasOwn(SHAPES, name);

const WORDS: Readonly<Record<Shape, string>> = {
  text: "a text",
  path: "the text of a path",
  address: '"host:port", or a port',
  number: "a number",
  flag: "true or false",
  off: "false",
  "on or off": "true or false",
  texts: "a list of texts",
  "some texts": "a list of at least one text",
  paths: "a path, or a list of them",
  "flag or address": 'true, "host:port", or a port',
  "url or path": "the text of a URL or a path",
};

/** The environment variable of an option: `TROUPE_HTTP`, `TROUPE_API_KEYS`. */
const variableOf = (name: string): string => `TROUPE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

const isAddressOfSocket = (text: string): boolean => text.includes("/") || text.endsWith(".sock");

/** The texts that the option would get on the command line; undefined if it would be absent. Throws what the property accepts. */
const textsOf = (shape: Shape, value: Json, folder: string): readonly string[] | boolean | undefined => {
  const wrong = (): TypeError => new TypeError(`it has to be ${WORDS[shape]}`);
  if (shape === "flag" || (shape === "flag or address" && value === true)) {
    if (typeof value !== "boolean") throw wrong();
    return value ? true : undefined;
  }
  if (shape === "on or off") {
    if (typeof value !== "boolean") throw wrong();
    return value;
  }
  if (shape === "off") {
    if (value !== false) throw wrong();
    return false;
  }
  if (shape === "number") {
    if (typeof value !== "number") throw wrong();
    return [String(value)];
  }
  if (shape === "texts" || shape === "some texts" || shape === "paths") {
    const list = shape === "paths" && typeof value === "string" ? [value] : value;
    // An empty list of identity keys is a mistake: anyone could send turns to the node.
    if (!isTexts(list) || (shape === "some texts" && list.length === 0) || (shape === "paths" && list.includes(""))) throw wrong();
    if (list.length === 0) return undefined;
    return shape !== "paths" ? list : list.map((module) => withPath(module, (path) => resolve(folder, path)));
  }
  const text = (shape === "address" || shape === "flag or address") && typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") throw wrong();
  const isPath =
    shape === "path" || (shape === "address" && isAddressOfSocket(text)) || (shape === "url or path" && !/^https?:/.test(text));
  // The option itself refuses an empty path.
  return [isPath && text !== "" ? resolve(folder, text) : text];
};

const parsed = (option: Option, texts: readonly string[]): unknown => {
  if (option.parseArg === undefined) return texts[0];
  const repeats = texts.length > 1 && option.attributeName() !== "claims";
  if (!repeats) return option.parseArg(texts.join(","), undefined);
  let all: unknown;
  for (const text of texts) all = option.parseArg(text, all);
  return all;
};

/** Runs an option's parser. Throws a `CommandError` that names the place of an invalid value. */
const withPlace = <T>(place: string, run: () => T): T => {
  try {
    return run();
  } catch (error) {
    if (error instanceof CommandError || error instanceof CommanderError || error instanceof TypeError)
      throw usage(`${place}: ${error.message.replace(/\.$/, "")}.`);
    throw error;
  }
};

const applyFile = (
  command: Command,
  options: ReadonlyMap<string, Option>,
  { path, settings }: ConfigFile,
): readonly string[] | undefined => {
  const folder = dirname(path);
  let modules: readonly string[] | undefined;
  for (const [name, value] of Object.entries(settings)) {
    if (!isProperty(name)) throw unknownProperty(path, name);
    if (value === undefined) continue;
    const place = `${path}: ${JSON.stringify(name)}`;
    const texts = withPlace(place, () => textsOf(SHAPES[name], value, folder));
    const option = options.get(name);
    if (name === "modules") modules = typeof texts === "object" ? texts : undefined;
    else if (option !== undefined && texts !== undefined && isOverridable(command, name)) {
      const setting = typeof texts === "boolean" ? texts : withPlace(place, () => parsed(option, texts));
      command.setOptionValueWithSource(name, setting, "config");
    }
  }
  // Otherwise a command in a subfolder would find no actors.
  if (folder !== process.cwd() && settings["data"] === undefined && isOverridable(command, "data"))
    command.setOptionValueWithSource("data", resolve(folder, DEFAULT_DATA), "default");
  return modules;
};

const unknownProperty = (path: string, name: string): CommandError =>
  usage(
    `${path} has a property ${JSON.stringify(name)} that is no setting${didYouMean(name, PROPERTIES)} There are ${PROPERTIES.join(", ")}.`,
  );

/** Whether no stronger source has set it. */
const isOverridable = (command: Command, name: string): boolean => {
  const source = command.getOptionValueSource(name);
  return source === undefined || source === "default";
};

/** Only for options with a value: a flag would be turned on by a variable that is "false" or empty. */
const applyEnvironment = (
  command: Command,
  options: ReadonlyMap<string, Option>,
  env: Readonly<Record<string, string | undefined>>,
): void => {
  for (const [name, option] of options) {
    const text = env[variableOf(name)];
    if (!option.required || text === undefined || text === "" || !isOverridable(command, name)) continue;
    command.setOptionValueWithSource(
      name,
      withPlace(variableOf(name), () => parsed(option, [text])),
      "env",
    );
  }
};

const SOURCES: Readonly<Record<string, SettingSource>> = { cli: "flag", env: "environment", config: "file" };

/** A printable value, with addresses as users write them. */
const printable = (value: unknown): Json => {
  if (typeof value === "object" && value !== null) {
    if ("host" in value && typeof value.host === "string" && "port" in value && typeof value.port === "number")
      return authority(value.host, value.port);
    if ("path" in value && typeof value.path === "string") return value.path;
    if ("ingress" in value && typeof value.ingress === "string") return value.ingress;
    if (isTexts(value)) return [...value];
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
};

/**
 * Adds the environment and the nearest troupe.config.ts to a command's flags, in `command.opts()`. Throws a `CommandError` that names the
 * file and the property, or the variable.
 */
export const applySettings = async (
  command: Command,
  given: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Settings> => {
  const options = new Map(command.options.map((option) => [option.attributeName(), option]));
  const { config }: { readonly config?: unknown } = command.opts();
  const path = typeof config === "string" ? resolve(config) : config === false ? undefined : findConfig(process.cwd());
  options.delete("config");
  applyEnvironment(command, options, env);
  const file = path === undefined ? undefined : await readConfig(path);
  const fromFile = file === undefined ? undefined : applyFile(command, options, file);
  const modules = given.length > 0 ? given : (fromFile ?? []);
  const values: JsonObject = command.opts();
  const list = PROPERTIES.flatMap((name): readonly Setting[] => {
    if (name === "modules") return modules.length === 0 ? [] : [{ name, value: [...modules], source: given.length > 0 ? "flag" : "file" }];
    const value = values[name];
    const source = SOURCES[command.getOptionValueSource(name) ?? ""] ?? "default";
    return value === undefined ? [] : [{ name, value: printable(value), source }];
  });
  return { modules, file: path, list };
};

/** The modules; guests need none. Throws a `CommandError` if there is nothing to serve. */
export const modulesToServe = ({ modules, file, list }: Settings): readonly string[] => {
  if (modules.length > 0 || list.some(({ name }) => name === "theater" || name === "theaterTcp")) return modules;
  throw usage(
    file === undefined
      ? "There is nothing to serve: name a module, as in troupe serve door.ts, or give modules in a troupe.config.ts here or in a folder above."
      : `There is nothing to serve: give modules in ${file}, or name one, as in troupe serve door.ts.`,
  );
};
