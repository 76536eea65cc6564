import type { Command } from "commander";
import { usage } from "./command-error.ts";
import type { DocsOptions } from "./docs/serve-docs.ts";
import { parseHostPort } from "./option-parsers.ts";

export const registerDocsCommands = (program: Command, version: string): void => {
  program
    .command("docs")
    .description("Serve this documentation to MCP clients: a search tool, and every page.")
    .option("--http <address>", "Streamable HTTP at [host:]port; port 0 picks a free one", (text: string) => parseHostPort(text, "--http"))
    .option("--stdio", "MCP on standard input and output (default without --http)")
    .option("--json", "machine-readable: one line when ready, JSON logs")
    // Refused below, with a sentence that says where to put the question.
    .allowExcessArguments()
    .action(async (options: DocsOptions, command: Command) => {
      if (command.args.length > 0)
        throw usage(
          "troupe docs takes no arguments: it is an MCP server, and its tool search answers questions. Give it to a client: claude mcp add troupe-docs -- npx troupe docs",
        );
      await (await import("./docs/serve-docs.ts")).serveDocs(options, version);
    });
};
