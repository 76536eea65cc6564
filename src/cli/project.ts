// Owns: what a project says about itself in package.json and troupe.config.ts, for those it is shared with. Does not own: the formats
// (commands/bundle.ts, commands/publish.ts).
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../core/contract/index.ts";
import { isTexts, omitUndefined, tryParseJson } from "../core/contract/internal.ts";
import { usage } from "./command-error.ts";
import { readTextFile } from "./files.ts";
import { serverName } from "./install/server.ts";
import { findConfig, readConfig } from "./settings.ts";

export interface Project {
  /** The folder of package.json, else of the settings, else the current one. */
  readonly folder: string;
  readonly manifest: JsonObject;
  readonly settings: JsonObject;
  readonly modules: readonly string[];
  /** The file of the server's API keys. */
  readonly apiKeys?: string;
  /** The file with the configuration of capabilities. */
  readonly packetConfig?: string;
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  readonly title?: string;
  readonly version: string;
  readonly description?: string;
  readonly homepage?: string;
  readonly repository?: string;
}

interface ProjectOptions {
  readonly module?: string;
  readonly name?: string;
  /** A path, or false: `--no-config`. */
  readonly config?: string | false;
}

const textIn = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;

const isWebUrl = (text: string | undefined): text is string => text !== undefined && /^https?:/.test(text) && URL.canParse(text);

/** `git+https://github.com/ann/door.git`, `github:ann/door` and `ann/door` are the same place. */
const repositoryOf = (value: Json | undefined): string | undefined => {
  const text = textIn(isJsonObject(value) ? value["url"] : value);
  const [, host, path] = /^(?:(github|gitlab):)?([\w.-]+\/[\w.-]+)$/.exec(text ?? "") ?? [];
  if (path !== undefined) return `https://${host ?? "github"}.com/${path}`;
  const url = text
    ?.replace(/^git\+/, "")
    .replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, "https://$1/")
    .replace(/\.git$/, "");
  return isWebUrl(url) ? url : undefined;
};

const folderWithPackage = (from: string): string | undefined => {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (existsSync(join(folder, ".git")) || dirname(folder) === folder) return undefined;
  }
};

/** Reads the project around the current folder. Throws a `CommandError` if there is nothing to serve. */
export const readProject = async ({ module, name, config }: ProjectOptions, needsModule: boolean): Promise<Project> => {
  const path = typeof config === "string" ? resolve(config) : config === false ? undefined : findConfig(process.cwd());
  const file = path === undefined ? undefined : await readConfig(path);
  const around = file === undefined ? process.cwd() : dirname(file.path);
  const folder = folderWithPackage(around) ?? around;
  const found = join(folder, "package.json");
  const manifest = existsSync(found) ? tryParseJson(readTextFile(found, "package.json")) : {};
  if (!isJsonObject(manifest)) throw usage(`${found} is not JSON.`);
  const settings = file?.settings ?? {};
  const configured = settings["modules"];
  const listed = typeof configured === "string" ? [configured] : isTexts(configured) ? configured : [];
  const modules = module !== undefined ? [at(process.cwd(), module)] : listed.map((one) => at(around, one));
  if (modules.length === 0 && needsModule)
    throw usage("There is nothing to serve: name a module, as in troupe bundle door.ts, or run this where a troupe.config.ts has modules.");
  const pathIn = (property: string): string | undefined => {
    const text = textIn(settings[property]);
    return text === undefined ? undefined : resolve(around, text);
  };
  const packageName = textIn(manifest["name"])?.replace(/^@[^/]*\//, "");
  const [first] = modules;
  if (!needsModule && packageName === undefined && textIn(settings["name"]) === undefined && first === undefined)
    throw usage(
      `${found} ${existsSync(found) ? 'has no "name"' : "does not exist"}: run npm init in the project, and fill in what it asks.`,
    );
  return {
    folder,
    manifest,
    settings,
    modules,
    name: serverName({
      scope: "user",
      ...omitUndefined({ name: name ?? textIn(settings["name"]) ?? packageName, target: first }),
    }),
    version: textIn(settings["serverVersion"]) ?? textIn(manifest["version"]) ?? "0.0.0",
    ...omitUndefined({
      apiKeys: pathIn("apiKeys"),
      packetConfig: pathIn("packetConfig"),
      title: textIn(settings["title"]),
      description: textIn(manifest["description"]),
      homepage: [textIn(manifest["homepage"])].find(isWebUrl),
      repository: repositoryOf(manifest["repository"]),
    }),
  };
};

/** `shop=./shop.ts` keeps its prefix. */
const at = (folder: string, module: string): string => {
  const match = /^([A-Za-z][\w-]*=)(.+)$/.exec(module);
  return match?.[1] !== undefined && match[2] !== undefined ? `${match[1]}${resolve(folder, match[2])}` : resolve(folder, module);
};
