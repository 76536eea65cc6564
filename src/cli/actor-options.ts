// Owns: the options that say which actors a command is about: --data, --engine, --secret-file, --module, kind/key. Does not own: reading
// or changing actors (open-store.ts, run-operation.ts).
import { type Command, Option } from "commander";
import { type ActorId, type Clock, systemClock } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { TransferOptions } from "../hosts/restate/index.ts";
import { clusterSecretIfAny, type EngineAddress, parseEngine } from "./cluster/cluster-options.ts";
import { describeFailure, EXIT, usage } from "./command-error.ts";
import { nonEmptyPath } from "./option-parsers.ts";
import { failureLine } from "./output.ts";

export const DEFAULT_DATA = ".troupe";

export const dataOption = (): Option =>
  new Option("--data <dir>", "where actors, sessions and history are kept")
    .default(DEFAULT_DATA)
    .env("TROUPE_DATA")
    .argParser(nonEmptyPath("a folder"));

/** The options of every command that reads or changes actors. */
export interface CommonOptions {
  readonly data: string;
  readonly json?: boolean;
}

export const moduleOption = (): Option =>
  new Option("--module <module...>", "where its kind is defined, if no server runs on the directory").conflicts("engine");

/** For commands that need no module. Earlier versions took one, so it is accepted and ignored. */
export const unusedModuleOption = (): Option => moduleOption().hideHelp();

export const addCommonOptions = (command: Command): Command => command.addOption(dataOption()).option("--json", "one JSON value per line");

/** Where actors are: in a data directory, or on a Restate server. */
export interface Target extends CommonOptions {
  readonly engine?: EngineAddress;
  readonly secretFile?: string;
}

/** The options of a command that changes actors. */
export interface WriteOptions extends Target {
  readonly module?: readonly string[];
}

/** The end of an error about something that was sealed with a secret that this command was not given. */
export const SECRET_HINT = "it is sealed with the secret that the nodes share. Name it with --secret-file, or set TROUPE_CLUSTER_SECRET.";

export const addTargetOptions = (command: Command): Command =>
  targetOptions().reduce((to, option) => to.addOption(option), addCommonOptions(command));

/** For a command that works on data directories only. It accepts --engine, so that it can refuse it with a reason; help hides it. */
export const addDirectoryOptions = (command: Command): Command =>
  targetOptions().reduce((to, option) => to.addOption(option.hideHelp()), addCommonOptions(command));

const targetOptions = (): readonly Option[] => [
  new Option("--engine <address>", "instead: a Restate server whose nodes run, restate://host[:port][?admin=url]")
    .argParser(parseEngine)
    .conflicts("data"),
  new Option(
    "--secret-file <file>",
    "with --engine, where kinds have secrets: what all nodes share (default: TROUPE_CLUSTER_SECRET)",
  ).argParser(nonEmptyPath("a file")),
];

/** The cluster that the options name; undefined for a data directory. Throws `USAGE`. */
export const clusterTarget = ({ engine, secretFile }: Target): TransferOptions | undefined => {
  if (engine === undefined) return undefined;
  const secret = clusterSecretIfAny(process.env, secretFile);
  return { ...engine, patience: commandClock, ...omitUndefined({ secret }) };
};

/** The system's, with timers that keep the process alive. A command may wait for nothing else: the next poll, or the next attempt. */
const commandClock: Clock = {
  ...systemClock,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const isActorId = (text: string): text is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/\s]+$/.test(text);

/** Parses `kind/key`, with the key percent-encoded as `troupe actors` prints it. */
export const parseActorId = (text: string): ActorId => {
  if (isActorId(text)) return text;
  throw usage(`An actor is named kind/key, such as counter/main, not "${text}"; "troupe actors" lists them.`);
};

/** As `parseActorId`. Also accepts the handle that a client has in place of the key. */
export const resolveActor = async (text: string): Promise<ActorId> => {
  const id = parseActorId(text);
  const at = id.indexOf("/");
  // The code that reads handles is loaded only if this may be one.
  if (!id.startsWith("h_", at + 1)) return id;
  const { handleActor, isHandle } = await import("../mcp/source/actor-access.ts");
  const key = id.slice(at + 1);
  return isHandle(key) ? handleActor(id.slice(0, at), key) : id;
};

/** Acts on one actor after the other, also after a failure. Prints all failures but the first, which it throws at the end. */
export const forEachActor = async (
  named: readonly string[],
  json: boolean | undefined,
  act: (id: ActorId) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const text of named) {
    try {
      await act(await resolveActor(text));
    } catch (error) {
      const { exit, code, message } = describeFailure(error);
      // The command line or the server is at fault, so the next actor would fail in the same way.
      if (code === "USAGE" || exit === EXIT.unavailable) throw error;
      if (failures.push(error) > 1) process.stderr.write(`${failureLine(json, code, message)}\n`);
    }
  }
  if (failures.length > 0) throw failures[0];
};
