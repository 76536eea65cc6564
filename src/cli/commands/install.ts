// Owns: the options of `troupe install`. Does not own: what it does (install/install.ts), which help must not load.
import { Argument, type Command, Option } from "commander";
import type { InstallOptions } from "../install/install.ts";

/** Repeated here, since help must not load install/clients.ts. A test compares both. */
const CLIENT_NAMES = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "goose", "gemini"];

export const register = (program: Command): void => {
  program
    .command("install")
    .description("Add a server to a client's settings: print the change, and with --yes write it. Without a client, list them.")
    .addArgument(new Argument("[client]", "whose settings").choices(CLIENT_NAMES))
    .argument("[target]", "the module that the client shall start, or the address of a server (default: the project's troupe.config.ts)")
    .option("--name <name>", "what the client calls the server (default: of the project, the module or the host)")
    .addOption(
      new Option("--http [url]", "the client connects to a server that runs (default: the project's address, or 127.0.0.1:3000)").conflicts(
        "stdio",
      ),
    )
    .option("--stdio", "the client starts the server (default for a module)")
    .addOption(
      new Option("--scope <scope>", "user: everywhere; project: a file in this project, for all who work on it")
        .choices(["user", "project"])
        .default("user"),
    )
    .option("--token-env <variable>", "the environment variable of a bearer token; the file holds its name, not its value")
    .option("--write-token", "with --token-env: write the value itself into the file")
    .option("--remove", "remove the server again")
    .option("--yes", "write it")
    .addOption(new Option("--config <file>", "the project's settings (default: troupe.config.ts here or in the nearest folder above)"))
    .addOption(new Option("--no-config", "without them"))
    .option("--json", "one JSON value per line")
    .action(async (client: string | undefined, target: string | undefined, options: InstallOptions) =>
      (await import("../install/install.ts")).install(client, target, options),
    );
};
