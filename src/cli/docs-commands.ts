import type { Command } from "commander";
import { parseHostPort } from "./address.ts";
import type { DocsOptions } from "./docs/serve-docs.ts";

export const registerDocsCommands = (program: Command, version: string): void => {
  program
    .command("docs")
    .description("Serve this documentation to MCP clients: a search tool, and every page.")
    .option("--http <address>", "Streamable HTTP at [host:]port; port 0 picks a free one", (text: string) => parseHostPort(text, "--http"))
    .option("--stdio", "MCP on standard input and output (default without --http)")
    .option("--json", "machine-readable: one line when ready, JSON logs")
    .action(async (options: DocsOptions) => (await import("./docs/serve-docs.ts")).serveDocs(options, version));
};
