import { type Command, Option } from "commander";
import type { ActorId } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { TransferOptions } from "../hosts/restate/index.ts";
import { clusterSecretIfAny, type EngineAddress, parseEngine } from "./cluster/cluster-options.ts";
import { describeFailure, EXIT, usage } from "./command-error.ts";
import { naming } from "./option-parsers.ts";
import { failureLine } from "./output.ts";

const DEFAULT_DATA = ".troupe";

export const dataOption = (): Option =>
  new Option("--data <dir>", "where actors, sessions and history are kept")
    .default(DEFAULT_DATA)
    .env("TROUPE_DATA")
    .argParser(naming("a folder"));

/** What every other command is told. */
export interface Common {
  readonly data: string;
  readonly json?: boolean;
}

export const moduleOption = (): Option =>
  new Option("--module <module...>", "where its kind is defined, if no server runs on the directory").conflicts("engine");

/** Of commands that need no module, and took one before: it is not loaded. */
export const unusedModuleOption = (): Option => moduleOption().hideHelp();

export const common = (command: Command): Command => command.addOption(dataOption()).option("--json", "one JSON value per line");

/** Where actors are: in a data directory, or on a Restate server. */
export interface Place extends Common {
  readonly engine?: EngineAddress;
  readonly secretFile?: string;
}

/** What a command that writes is told besides. */
export interface Writing extends Place {
  readonly module?: readonly string[];
}

/** Where something is sealed, and nobody said with what. */
export const NAME_SECRET = "it is sealed with the secret that the nodes share. Name it with --secret-file, or set TROUPE_CLUSTER_SECRET.";

export const placed = (command: Command): Command => placeOptions().reduce((to, option) => to.addOption(option), common(command));

/** Of a command that no cluster can do: help does not offer what it refuses with the reason. */
export const placedInDirectory = (command: Command): Command =>
  placeOptions().reduce((to, option) => to.addOption(option.hideHelp()), common(command));

const placeOptions = (): readonly Option[] => [
  new Option("--engine <address>", "instead: a Restate server whose nodes run, restate://host[:port][?admin=url]")
    .argParser(parseEngine)
    .conflicts("data"),
  new Option(
    "--secret-file <file>",
    "with --engine, where kinds have secrets: what all nodes share (default: TROUPE_CLUSTER_SECRET)",
  ).argParser(naming("a file")),
];

/** Undefined: actors are in a data directory. Throws `USAGE`. */
export const transferOf = ({ engine, secretFile }: Place): TransferOptions | undefined => {
  if (engine === undefined) return undefined;
  const secret = clusterSecretIfAny(process.env, secretFile);
  return { ...engine, ...omitUndefined({ secret }) };
};

const isActorId = (text: string): text is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/\s]+$/.test(text);

/** `kind/key`, the key percent-encoded as `troupe actors` prints it. */
export const actorId = (text: string): ActorId => {
  if (isActorId(text)) return text;
  throw usage(`An actor is named kind/key, such as counter/main, not "${text}"; "troupe actors" lists them.`);
};

/** As `actorId`, or by its handle, as its client has it. */
export const namedActor = async (text: string): Promise<ActorId> => {
  const id = actorId(text);
  const at = id.indexOf("/");
  // What reads handles is loaded only where there may be one.
  if (!id.startsWith("h_", at + 1)) return id;
  const { handleActor, isHandle } = await import("../mcp/source/actor-access.ts");
  const key = id.slice(at + 1);
  return isHandle(key) ? handleActor(id.slice(0, at), key) : id;
};

/** One after the other; one that fails keeps none from its own. Each failure is told, and the first is the command's, told last. */
export const eachActor = async (
  named: readonly string[],
  json: boolean | undefined,
  act: (id: ActorId) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const text of named) {
    try {
      await act(await namedActor(text));
    } catch (error) {
      const { exit, code, message } = describeFailure(error);
      // The command or the server is at fault: with the next it would be the same.
      if (code === "USAGE" || exit === EXIT.unavailable) throw error;
      if (failures.push(error) > 1) process.stderr.write(`${failureLine(json, code, message)}\n`);
    }
  }
  if (failures.length > 0) throw failures[0];
};
