import type { Command } from "commander";
import { type Place, placed } from "./actor-options.ts";
import { type HostPort, parseHostPort } from "./option-parsers.ts";

export interface ConsoleCommand extends Place {
  readonly http?: HostPort;
  readonly open?: boolean;
}

export const registerConsoleCommand = (program: Command, version: string): void => {
  placed(
    program
      .command("console")
      .description(
        "Show actors and their history in a web page: of a data directory (--data), of a file that troupe export wrote (--data file), or of a cluster. Of a directory or a file nothing is changed.",
      ),
  )
    .option("--http <address>", "where, at [host:]port of this machine (default: a free port)", (text: string) =>
      parseHostPort(text, "--http"),
    )
    .option("--open", "open the page in the browser")
    .action(async (options: ConsoleCommand) => (await import("./show-console.ts")).showConsole(options, version));
};
