// Owns: `troupe theater-mcp`: a gateway and listeners before a Theater server elsewhere. Does not own: that server's protocol and its MCP
// interface (bridges/theater).
import { type Command, Option } from "commander";
import { systemClock } from "../../core/contract/index.ts";
import { toLog, serverLog } from "../log.ts";
import { type HostPort, parseHostPort, parseTcp } from "../option-parsers.ts";
import { ignoreWriteErrors, redirectStdout, paintError } from "../output.ts";
import { stopSignal } from "../server-process.ts";
import { THEATER_ADDRESS } from "./theater.ts";

interface TheaterMcpOptions {
  readonly theater: HostPort;
  readonly codec: "auto" | "raw" | "fragmenting";
  readonly http?: HostPort;
  readonly tcp?: HostPort | { readonly path: string };
  readonly stdio?: boolean;
  readonly insecure?: boolean;
  readonly json?: boolean;
}

export const register = (program: Command): void => {
  program
    .command("theater-mcp")
    .description("Serve a Theater server, this one's or another's, to MCP clients.")
    .addOption(
      new Option("--theater <address>", "the Theater server, [host:]port")
        .default(parseHostPort(THEATER_ADDRESS, "--theater"), THEATER_ADDRESS)
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
    .action(theaterMcp);
};

const GRACE_MS = 5_000;

/**
 * Serves a Theater server's actors to MCP clients until it is stopped or its standard input ends. The Theater server may be down at the
 * start or later; calls fail with a message meanwhile.
 */
async function theaterMcp({ theater, codec, http, tcp, stdio, insecure = false, json = false }: TheaterMcpOptions): Promise<void> {
  const [
    { faceMessageBytes, remoteStage, THEATER_INFO, theaterFace },
    { memorySessionStore, memoryStreamStore },
    { createGateway },
    { serveHttp, serveStdio, serveTcp },
  ] = await Promise.all([
    import("../../bridges/theater/index.ts"),
    import("../../core/store/index.ts"),
    import("../../mcp/gateway/index.ts"),
    import("../../mcp/transport/index.ts"),
  ]);
  ignoreWriteErrors(process.stdout);
  const overStdio = stdio === true || (http === undefined && tcp === undefined);
  const held = overStdio || json ? redirectStdout() : undefined;
  const log = serverLog("info", json, () => systemClock.now());
  await using stage = remoteStage({ ...theater, codec, log: toLog(log) });
  await using face = theaterFace({ stage });
  const longest = faceMessageBytes();
  const sessions = memorySessionStore();
  await using gateway = createGateway({
    source: face,
    info: THEATER_INFO,
    sessions,
    streams: memoryStreamStore(),
    listMode: { modern: "dynamic" },
    limits: { messageBytes: longest },
  });
  const common = { gateway, log: toLog(log) };
  const httpListener = http === undefined ? undefined : await serveHttp({ ...common, insecure, ...http, limits: { bodyBytes: longest } });
  const tcpListener = tcp === undefined ? undefined : await serveTcp({ ...common, insecure, ...tcp, limits: { lineBytes: longest } });
  const addresses = {
    ...(httpListener === undefined ? {} : { http: httpListener.url }),
    ...(tcpListener === undefined ? {} : { tcp: tcpListener.url }),
    ...(overStdio ? { stdio: true } : {}),
  };
  const of = `${theater.host}:${theater.port}`;
  const line = json
    ? `${JSON.stringify({ ready: true, theater: of, ...addresses, pid: process.pid })}\n`
    : `${paintError("bold", `Theater at ${of}`)} is served over MCP: ${[httpListener?.url, tcpListener?.url, overStdio ? "stdio" : undefined].filter((place) => place !== undefined).join(", ")}. Ctrl-C stops it.\n`;
  if (json && !overStdio) held?.print(line);
  else process.stderr.write(line);
  const signalled = stopSignal();
  held?.release();
  const stdioListener = overStdio ? serveStdio({ ...common, graceMs: GRACE_MS, lineBytes: longest }) : undefined;
  const why = await Promise.race([signalled, ...(stdioListener === undefined ? [] : [stdioListener.ended.then(() => "end of input")])]);
  log("info", "stopping", { why });
  const from = systemClock.now();
  await gateway.drain(GRACE_MS);
  // One grace period for all: what the calls left of it.
  const graceMs = Math.max(0, GRACE_MS - (systemClock.now() - from));
  await Promise.all([httpListener?.close({ graceMs }), tcpListener?.close({ graceMs }), stdioListener?.close()]);
}
