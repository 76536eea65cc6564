import { type Command, Option } from "commander";
import { parseHostPort, parseTcp } from "./option-parsers.ts";
import { addServeOptions, type ServeOptions } from "./serve-options.ts";
import type { TheaterMcpOptions } from "./theater-mcp.ts";

const REMOTE = "127.0.0.1:9000";

export const registerTheaterCommands = (program: Command, version: string): void => {
  addServeOptions(
    program.command("theater").description("Run WebAssembly guests, and serve Theater's management protocol to its clients."),
    "[module...]",
    "default: none",
  )
    .addOption(
      new Option("--address <address>", "where, [host:]port or the path of a Unix socket")
        .default(parseTcp(REMOTE, "--address"), REMOTE)
        .argParser((text: string) => parseTcp(text, "--address")),
    )
    .action(
      async (modules: string[], { address, ...options }: ServeOptions & { readonly address: NonNullable<ServeOptions["theaterTcp"]> }) =>
        (await import("./serve.ts")).serve(modules, { theaterTcp: address, ...options }, version),
    );

  program
    .command("theater-mcp")
    .description("Serve a Theater server, this one's or another's, to MCP clients.")
    .addOption(
      new Option("--theater <address>", "the Theater server, [host:]port")
        .default(parseHostPort(REMOTE, "--theater"), REMOTE)
        .argParser((text: string) => parseHostPort(text, "--theater")),
    )
    .addOption(
      new Option("--codec <codec>", "how it frames its messages; auto asks it").choices(["auto", "raw", "fragmenting"]).default("auto"),
    )
    .option("--http <address>", "Streamable HTTP at [host:]port; port 0 picks a free one", (text: string) => parseHostPort(text, "--http"))
    .option("--tcp <address>", "newline-delimited JSON at [host:]port or the path of a Unix socket", (text: string) =>
      parseTcp(text, "--tcp"),
    )
    .option("--stdio", "MCP on standard input and output; ends with the input (default when no other address is given)")
    .option("--insecure", "listen beyond loopback: whoever reaches it may do whatever the Theater server does")
    .option("--json", "machine-readable: one line when ready, JSON logs")
    .action(async (options: TheaterMcpOptions) => (await import("./theater-mcp.ts")).theaterMcp(options));
};
