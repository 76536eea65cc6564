import { type Command, Option } from "commander";
import { type EngineAddress, parseEngine } from "./cluster/engine-address.ts";
import { type Common, common, naming } from "./options.ts";

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
