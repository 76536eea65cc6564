// Owns: `troupe docs`: its options, transports and end. Does not own: what is served (docs-server.ts).
import type { Command } from "commander";
import { systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { usage } from "../command-error.ts";
import { toLog, serverLog } from "../log.ts";
import { type HostPort, parseHostPort } from "../option-parsers.ts";
import { ignoreWriteErrors, redirectStdout, paintError } from "../output.ts";
import { stopSignal } from "../server-process.ts";

export const register = (program: Command, version: string): void => {
  program
    .command("docs")
    .description("Serve this documentation to MCP clients: a search tool, and every page.")
    .option("--http <address>", "Streamable HTTP at [host:]port; port 0 picks a free one", (text: string) => parseHostPort(text, "--http"))
    .option("--stdio", "MCP on standard input and output (default without --http)")
    .option("--json", "machine-readable: one line when ready, JSON logs")
    // Refused below, with a hint on how to ask the question.
    .allowExcessArguments()
    .action(async (options: DocsOptions, command: Command) => {
      if (command.args.length > 0)
        throw usage(
          "troupe docs takes no arguments: it is an MCP server, and its tool search answers questions. Give it to a client: claude mcp add troupe-docs -- npx troupe docs",
        );
      await serveDocs(options, version);
    });
};

interface DocsOptions {
  readonly http?: HostPort;
  readonly stdio?: boolean;
  readonly json?: boolean;
}

const GRACE_MS = 1_000;

/** Serves the documentation until it is stopped, or its client closes standard input. */
const serveDocs = async ({ http, stdio, json = false }: DocsOptions, version: string): Promise<void> => {
  ignoreWriteErrors(process.stdout);
  const overStdio = stdio === true || http === undefined;
  const held = overStdio || json ? redirectStdout() : undefined;
  const log = serverLog("warn", json, () => systemClock.now());
  const { docsServer } = await import("../docs-server.ts");
  await using server = docsServer(version, { log: toLog(log) });
  const listener = http === undefined ? undefined : (await server.listen({ http })).http;
  const line = json
    ? `${JSON.stringify({ ready: true, name: "troupe-docs", ...omitUndefined({ http: listener?.url }), ...(overStdio ? { stdio: true } : {}), pid: process.pid })}\n`
    : `${paintError("bold", "Troupe's documentation")} is served over MCP: ${[listener?.url, overStdio ? "stdio" : undefined].filter((place) => place !== undefined).join(", ")}. Ctrl-C stops it.\n`;
  if (json && !overStdio) held?.print(line);
  else process.stderr.write(line);
  const signalled = stopSignal();
  held?.release();
  const ended = overStdio ? (await server.listen({ stdio: true })).stdio.ended : undefined;
  await Promise.race([signalled, ...(ended === undefined ? [] : [ended])]);
  await server.close({ graceMs: GRACE_MS });
};
