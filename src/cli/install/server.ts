// Owns: which server a command line means (a module, an address, or what troupe.config.ts says), its name, and how a client starts it.
// Does not own: what the entry looks like in a client's settings (clients.ts).
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";
import type { JsonObject } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import { authority } from "../../mcp/transport/listen.ts";
import { usage } from "../command-error.ts";
import { withPath } from "../load-modules.ts";
import { parseHostPort } from "../option-parsers.ts";
import type { Client, Scope } from "./clients.ts";
import type { Server } from "./entries.ts";

/** The options of the command, and the project's settings. */
export interface ServerOptions {
  /** A module, or the address of a server. */
  readonly target?: string;
  readonly name?: string;
  /** An address, or true: the one of the project's settings. */
  readonly http?: string | true;
  readonly stdio?: boolean;
  readonly tokenEnv?: string;
  readonly writeToken?: boolean;
  readonly config?: { readonly path: string; readonly settings: JsonObject };
  readonly scope: Scope;
}

/** The current folder, and the programs in use. */
export interface Place {
  readonly cwd: string;
  /** This Node. */
  readonly node: string;
  /** This Troupe's own program. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_ADDRESS = { host: "127.0.0.1", port: 3000 };

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

const isUrl = (text: string | undefined): text is string => text !== undefined && /^https?:\/\//i.test(text);

const nameFrom = (text: string): string | undefined => {
  const name = text
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^[-_]+|[-_]+$/g, "")
    .slice(0, 64);
  return NAME.test(name) ? name : undefined;
};

const moduleName = (module: string): string => {
  const path = module.replace(/^[A-Za-z][\w-]*=/, "");
  const file = basename(path, extname(path));
  return file === "index" ? basename(dirname(resolve(path))) : file;
};

const hostName = (url: string): string | undefined => {
  const { hostname } = new URL(url);
  return /^(?:localhost|[\d.]+|\[.*\])$/.test(hostname) ? undefined : hostname;
};

const modulesOf = ({ target, config }: ServerOptions): readonly string[] => {
  if (target !== undefined && !isUrl(target)) return [target];
  const modules = config?.settings["modules"];
  return typeof modules === "string" ? [modules] : isTexts(modules) ? modules : [];
};

/** The name of the server in clients. Throws a `CommandError` if there is none, or it is invalid. */
export const serverName = (options: ServerOptions): string => {
  const { name, config, target } = options;
  if (name !== undefined) {
    if (!NAME.test(name)) throw usage("--name takes 1 to 64 letters, digits, - and _, since some clients take no other.");
    return name;
  }
  const url = isUrl(target) ? target : isUrl(String(options.http)) ? String(options.http) : undefined;
  const [module] = modulesOf(options);
  const configured = config?.settings["name"];
  const from = [
    typeof configured === "string" ? configured : undefined,
    module === undefined ? undefined : moduleName(module),
    url === undefined || !URL.canParse(url) ? undefined : hostName(url),
  ].find((text) => text !== undefined);
  const found = from === undefined ? undefined : nameFrom(from);
  if (found === undefined) throw usage("The server has no name here: give one with --name.");
  return found;
};

const checkedUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw usage(`The address must be a URL such as http://127.0.0.1:3000/mcp, not ${JSON.stringify(text)}.`);
  if (url.username !== "" || url.password !== "")
    throw usage("The address must hold no user or password: name a token's variable with --token-env.");
  // The bare address of a server means its MCP endpoint.
  return url.pathname === "/" && url.search === "" ? new URL("/mcp", url).href : text;
};

/** The address in the project's settings. Undefined if it is not known before the server starts. */
const configuredUrl = ({ config }: ServerOptions): string | undefined => {
  const { http, resource } = config?.settings ?? {};
  if (typeof resource === "string" && isUrl(resource)) return resource;
  if (typeof http !== "string" && typeof http !== "number") return undefined;
  const { host, port } = parseHostPort(String(http), "http");
  if (port === 0) return undefined;
  const reachable = /^(?:0\.0\.0\.0|::)$/.test(host) ? "127.0.0.1" : host;
  return `http://${authority(reachable, port)}/mcp`;
};

const remoteServer = (options: ServerOptions, url: string, { env }: Place): Server => {
  const { tokenEnv, writeToken = false } = options;
  if (tokenEnv === undefined) {
    if (writeToken) throw usage("--write-token needs --token-env, the variable that the token is in.");
    return { how: "http", url: checkedUrl(url) };
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(tokenEnv))
    throw usage("--token-env takes the name of an environment variable, not the token itself.");
  const value = writeToken ? env[tokenEnv] : undefined;
  if (writeToken && (value === undefined || value === "")) throw usage(`--write-token: the environment variable ${tokenEnv} is not set.`);
  return { how: "http", url: checkedUrl(url), token: { variable: tokenEnv, ...(value === undefined ? {} : { value }) } };
};

const existing = (path: string): string => {
  if (existsSync(path)) return path;
  throw usage(`There is no ${path}: name a module, as for troupe serve, or the address of a server.`);
};

/** The folder that a project's settings are in. */
export const projectFolder = ({ config }: ServerOptions, { cwd }: Place): string => (config === undefined ? cwd : dirname(config.path));

/** This program by the link in node_modules, which stays where the package's own folder has a version in its name, as with pnpm. */
const linkedProgram = ({ cwd, program }: Place): string => {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const link = join(folder, "node_modules", "troupe", "bin", "troupe.js");
    if (existsSync(link) && existsSync(program) && realpathSync(link) === realpathSync(program)) return link;
    if (dirname(folder) === folder) return program;
  }
};

const localServer = (options: ServerOptions, client: Client, place: Place): Server => {
  const { target, config, scope } = options;
  const program = linkedProgram(place);
  const modules = target === undefined ? [] : [target];
  if (modules.length === 0 && config === undefined)
    throw usage(
      "There is nothing to install: name a module (troupe install cursor door.ts) or an address, or run this where a troupe.config.ts is.",
    );
  const serve = (at: (path: string) => string): readonly string[] => [
    "serve",
    ...modules.map((module) => withPath(module, (path) => at(existing(resolve(place.cwd, path))))),
    ...(config === undefined ? ["--no-config", "--data", at(resolve(place.cwd, ".troupe"))] : ["--config", at(config.path)]),
    "--stdio",
  ];
  if (scope === "user") return { how: "stdio", command: place.node, args: [program, ...serve((path) => path)] };
  // A project's file is shared: no path of this machine may be in it.
  const folder = projectFolder(options, place);
  const shared = (path: string): string => {
    const within = relative(folder, path).split(sep).join("/") || ".";
    if (within === ".." || within.startsWith("../") || within === path)
      throw usage(
        `${path} is outside of ${folder}, so a file that is shared with the project cannot name it: install what is missing there, or use --scope user.`,
      );
    return client.projectFolder === undefined ? within : `${client.projectFolder}/${within}`;
  };
  const ownNode = join(folder, "node_modules", "node", "bin", "node");
  return { how: "stdio", command: place.node === ownNode ? shared(ownNode) : "node", args: [shared(program), ...serve(shared)] };
};

/** The server to add to a client. Throws a `CommandError` that says what is missing. */
export const serverFor = (options: ServerOptions, client: Client, place: Place): Server => {
  const { target, http, stdio = false, tokenEnv } = options;
  const given = isUrl(target) ? target : typeof http === "string" ? http : undefined;
  if (given !== undefined) {
    if (stdio) throw usage("--stdio is for a module, which the client starts: leave out the address, or --stdio.");
    return remoteServer(options, given, place);
  }
  const configured = configuredUrl(options);
  const fallback = `http://${authority(DEFAULT_ADDRESS.host, DEFAULT_ADDRESS.port)}/mcp`;
  if (http === true) return remoteServer(options, configured ?? fallback, place);
  // A project that listens is one process for all clients; one process per client could not share its data.
  if (!stdio && target === undefined && configured !== undefined) return remoteServer(options, configured, place);
  if (tokenEnv !== undefined) throw usage("--token-env is for a server at an address: give the address, or --http.");
  if (place.program.includes(`${sep}_npx${sep}`))
    throw usage("This Troupe is in npm's cache, which npm may empty: run npm install troupe in the project first.");
  return localServer(options, client, place);
};
