import { type Command, Option } from "commander";
import type { BundleOptions } from "./share/bundle.ts";
import type { PublishOptions } from "./share/server-json.ts";

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const withConfig = (command: Command): Command =>
  command
    .addOption(new Option("--config <file>", "the project's settings (default: troupe.config.ts here or in the nearest folder above)"))
    .addOption(new Option("--no-config", "without them"))
    .option("--json", "one JSON value per line");

export const registerShareCommands = (program: Command): void => {
  withConfig(
    program
      .command("bundle")
      .description("Make an MCP bundle (.mcpb), which a client such as Claude Desktop installs and starts.")
      .argument("[module]", "what is served (default: the modules of the project's settings)")
      .option("--out <file>", "where to write it (default: <name>.mcpb)")
      .option("--name <name>", "of the bundle (default: of the settings, package.json or the module)")
      .option("--include <path>", "a file or folder that the code reads at run time; repeatable", collect)
      .option("--env <variable>", "an environment variable that the client asks its user for; repeatable", collect),
  ).action(async (module: string | undefined, options: BundleOptions) => (await import("./share/bundle.ts")).bundle(module, options));

  withConfig(
    program
      .command("publish")
      .description("Describe the server for the MCP registry: --dry-run prints its server.json. Publishes nothing.")
      .option("--dry-run", "print the server.json")
      .option("--registry-name <name>", 'such as io.github.ann/door (default: "mcpName" of package.json, or of its repository on GitHub)')
      .option("--env <variable>", "an environment variable that users have to set; repeatable", collect),
  ).action(async (options: PublishOptions) => (await import("./share/server-json.ts")).publish(options));
};
