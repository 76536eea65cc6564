// Owns: `troupe install`: what it prints, and how a client's file is read and replaced. Does not own: entries (clients.ts), changes
// (config-formats.ts).
import { accessSync, constants, lstatSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { structuredPatch } from "diff";
import type { JsonObject } from "../../core/contract/index.ts";
import { getOwn, omitUndefined } from "../../core/contract/internal.ts";
import { CommandError, EXIT, notFound, usage } from "../command-error.ts";
import { makeDirectory, replaceFile, systemCode, whyUnreadable, whyUnwritable } from "../files.ts";
import { PROGRAM } from "../installed-packages.ts";
import { oneLine, output, type Output, paint, table, visible } from "../output.ts";
import { findConfig, readConfig } from "../settings.ts";
import { type Client, CLIENTS, type Machine, type Scope } from "./clients.ts";
import { changeEntry, entriesOf, UnchangeableText } from "./config-formats.ts";
import { type Place, projectFolder, serverFor, serverName, type ServerOptions } from "./server.ts";

export interface InstallOptions {
  readonly name?: string;
  readonly http?: string | true;
  readonly stdio?: boolean;
  readonly scope: Scope;
  readonly tokenEnv?: string;
  readonly writeToken?: boolean;
  readonly remove?: boolean;
  readonly yes?: boolean;
  /** A path, or false: `--no-config`. */
  readonly config?: string | false;
  readonly json?: boolean;
}

/** No client's settings are that large. */
const MOST_BYTES = 32 * 1_024 * 1_024;

const place = (): Place => ({ cwd: process.cwd(), node: process.execPath, program: PROGRAM, env: process.env });

/** Throws if HOME is empty or relative. */
const home = (): string => {
  const folder = homedir();
  if (isAbsolute(folder)) return folder;
  throw usage(`The home folder must be an absolute path, not ${JSON.stringify(folder)}: set HOME.`);
};

const machine = (): Machine => ({ platform: process.platform, home: home(), env: process.env });

const configOf = async ({ config }: InstallOptions): Promise<ServerOptions["config"]> => {
  const path = typeof config === "string" ? resolve(config) : config === false ? undefined : findConfig(process.cwd());
  return path === undefined ? undefined : readConfig(path);
};

const serverOptions = async (target: string | undefined, options: InstallOptions): Promise<ServerOptions> => {
  const { config: _, json: __, remove: ___, yes: ____, ...given } = options;
  return { ...given, ...omitUndefined({ target, config: await configOf(options) }) };
};

/** The text of a file; undefined if there is none. Throws a `CommandError` if it cannot be read. */
const textOf = (file: string): string | undefined => {
  try {
    if (statSync(file).size > MOST_BYTES)
      throw new CommandError(EXIT.failed, "FAILED", `${file} is larger than 32 MiB, so it is not read.`);
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (systemCode(error) === "ENOENT") return undefined;
    throw new CommandError(EXIT.failed, "FAILED", `${file} cannot be read: ${whyUnreadable(error)}.`);
  }
};

const fileOf = (client: Client, scope: Scope, folder: string): string => {
  if (scope === "user") return client.userFile(machine());
  if (client.projectFile !== undefined) return join(folder, client.projectFile);
  throw usage(`${client.title} has no settings of a project: leave out --scope project.`);
};

/** Replaces the file atomically. A link stays a link, and its target keeps its permissions. */
const writeSettings = (file: string, before: string | undefined, after: string | undefined, mode: number): void => {
  try {
    const target = before === undefined ? file : realpathSync(file);
    if (textOf(file) !== before)
      throw new CommandError(EXIT.failed, "FAILED", `${file} has just been changed by another program: run the command again.`);
    if (before === undefined && lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new CommandError(
        EXIT.failed,
        "FAILED",
        `${file} is a link that leads to nothing: make the file that it leads to, or remove it.`,
      );
    if (after === undefined) return rmSync(target);
    makeDirectory(dirname(target));
    replaceFile(target, after, before === undefined ? mode : statSync(target).mode & 0o777);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(EXIT.failed, "FAILED", `${file} cannot be written: ${whyUnwritable(error)}.`);
  }
};

/** The changed lines, after `-` or `+`, with one line of context: more would reveal settings of other servers. */
const diffLines = (before: string, after: string): readonly string[] =>
  structuredPatch("", "", before, after, undefined, undefined, { context: 1 }).hunks.flatMap(({ lines }, index) => [
    ...(index === 0 ? [] : ["…"]),
    ...lines.filter((line) => !line.startsWith("\\")),
  ]);

const painted = (line: string): string => {
  const text = visible(line.replace(/\r$/, ""));
  return line.startsWith("+") ? paint("green", text) : line.startsWith("-") ? paint("red", text) : paint("dim", text);
};

type Action = "add" | "replace" | "remove" | "none";

interface Change {
  readonly file: string;
  readonly action: Action;
  readonly before: string | undefined;
  /** Undefined: the file is deleted. */
  readonly after: string | undefined;
}

/** What is to be done to one client's file. `entry` undefined: the server is removed. */
const planChange = (client: Client, file: string, name: string, entry: JsonObject | undefined): Change => {
  const { format, container } = client;
  const before = textOf(file);
  const text = before ?? format.empty;
  try {
    const present = getOwn(entriesOf(format, text, container), name);
    const changed = changeEntry(format, text, [container, name], entry);
    // A file that holds nothing else was made by an installation.
    const after = entry === undefined && changed.trim() === format.empty.trim() ? undefined : changed;
    const action = changed === text ? "none" : entry === undefined ? "remove" : present === undefined ? "add" : "replace";
    return { file, action, before, after };
  } catch (error) {
    if (!(error instanceof UnchangeableText)) throw error;
    const byHand =
      entry === undefined
        ? `Remove ${JSON.stringify(name)} under ${JSON.stringify(container)} by hand.`
        : `Correct it, or add this by hand:\n${format.render([container, name], entry)}`;
    throw new CommandError(EXIT.failed, "FAILED", `${file} is left as it is: ${error.message}. ${byHand}`);
  }
};

const DONE: Readonly<Record<Action, string>> = {
  add: "is added to",
  replace: "is replaced in",
  remove: "is removed from",
  none: "is already in",
};

const PLANNED: Readonly<Record<Action, string>> = {
  add: "would be added to",
  replace: "would be replaced in",
  remove: "would be removed from",
  none: "is already in",
};

/** Masks tokens: they are in the file, and must not get into logs. References to variables stay readable. */
export const withoutTokens = (line: string): string => line.replaceAll(/(Bearer )(?!\$\{)(?:[^"\\]|\\.)+/g, "$1********");

const installIn = (client: Client, options: ServerOptions, { remove = false, yes = false }: InstallOptions, out: Output): void => {
  const here = place();
  // First, since its errors say what is missing.
  const server = remove ? undefined : serverFor(options, client, here);
  const name = serverName(options);
  const entry = server === undefined ? undefined : client.entry(name, server);
  const file = fileOf(client, options.scope, projectFolder(options, here));
  const { action, before, after } = planChange(client, file, name, entry);
  if (remove && action === "none") throw notFound(`${client.title} has no server ${name} in ${file}.`);
  const diff = diffLines(before ?? "", after ?? "").map((line) => withoutTokens(line));
  const written = yes && action !== "none";
  if (written) writeSettings(file, before, after, options.scope === "user" ? 0o600 : 0o644);
  out.show({ client: client.id, name, file, action, written, diff }, () =>
    [
      `${paint("bold", name)} ${(written ? DONE : PLANNED)[action]} the settings of ${client.title}: ${oneLine(file)}`,
      ...(action === "none" ? [] : ["", ...diff.map(painted), ""]),
      ...(action !== "none" && after === undefined ? [`The file holds nothing else: it ${written ? "is" : "would be"} deleted.`] : []),
      written || action === "none" ? client.afterwards : "Nothing is written yet: add --yes to write it.",
    ].join("\n"),
  );
  if (server?.how === "http" && server.token?.value !== undefined && options.scope === "project")
    out.note("The file belongs to the project and holds the token: keep it out of version control.");
  if (server?.how === "http" && server.token === undefined && options.config?.settings["apiKeys"] !== undefined)
    out.note("The server asks for a key: name the environment variable that holds it with --token-env.");
};

const isProgram = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      if (folder === "") return false;
      accessSync(join(folder, process.platform === "win32" ? `${name}.cmd` : name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

const isFound = ({ signs, userFile }: Client): boolean =>
  exists(dirname(userFile(machine())) === home() ? userFile(machine()) : dirname(userFile(machine()))) ||
  signs.some((sign) => (sign.endsWith("/") ? exists(join(home(), sign)) : isProgram(sign)));

/** Whether a client knows a server by that name; undefined where its settings cannot be read. */
const hasServer = ({ format, container }: Client, file: string, name: string): boolean | undefined => {
  try {
    const text = textOf(file);
    return text !== undefined && getOwn(entriesOf(format, text, container), name) !== undefined;
  } catch {
    return undefined;
  }
};

const nameIfAny = (options: ServerOptions): string | undefined => {
  try {
    return serverName(options);
  } catch (error) {
    if (error instanceof CommandError && options.name === undefined) return undefined;
    throw error;
  }
};

const word = (yes: boolean | undefined): string => (yes === undefined ? "?" : yes ? "yes" : "no");

/** Every client, whether it is on this machine, and whether it has the server. */
const listClients = (options: ServerOptions, out: Output): void => {
  const name = nameIfAny(options);
  const folder = projectFolder(options, place());
  const rows = CLIENTS.filter(({ projectFile }) => options.scope === "user" || projectFile !== undefined).map((client) => {
    const file = fileOf(client, options.scope, folder);
    const installed = name === undefined ? undefined : hasServer(client, file, name);
    return { client: client.id, title: client.title, found: isFound(client), file, ...omitUndefined({ name, installed }) };
  });
  for (const row of rows) out.value(row);
  out.text(() =>
    [
      table(
        ["client", "found here", ...(name === undefined ? [] : [`has ${name}`]), "file"],
        rows.map(({ client, found, file, installed }) => [client, word(found), ...(name === undefined ? [] : [word(installed)]), file]),
      ),
      "",
      "troupe install <client> shows what it would write; with --yes it writes it.",
    ].join("\n"),
  );
};

/** Adds a server to a client's settings, or removes it; without a client, lists them. Writes only with `yes`. */
export const install = async (client: string | undefined, target: string | undefined, options: InstallOptions): Promise<void> => {
  const out = output(options);
  const server = await serverOptions(target, options);
  const known = CLIENTS.find(({ id }) => id === client);
  if (known === undefined) listClients(server, out);
  else installIn(known, server, options, out);
};
