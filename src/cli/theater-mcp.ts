import { systemClock } from "../core/contract/index.ts";
import { createGateway } from "../mcp/gateway/index.ts";
import { memorySessionStore, memoryStreamStore } from "../core/store/index.ts";
import { faceMessageBytes, remoteStage, THEATER_INFO, theaterFace } from "../bridges/theater/index.ts";
import { serveHttp, serveStdio, serveTcp } from "../mcp/transport/index.ts";
import { forLog, serverLog } from "./log.ts";
import type { HostPort } from "./option-parsers.ts";
import { bearGoneReaders, holdOutput, paintError } from "./output.ts";
import { stopSignal } from "./server-process.ts";

export interface TheaterMcpOptions {
  readonly theater: HostPort;
  readonly codec: "auto" | "raw" | "fragmenting";
  readonly http?: HostPort;
  readonly tcp?: HostPort | { readonly path: string };
  readonly stdio?: boolean;
  readonly insecure?: boolean;
  readonly json?: boolean;
}

const GRACE_MS = 5_000;

/**
 * Serves a Theater server's actors to MCP clients, until it is told to stop or its client on standard input has gone. The server
 * need not be there yet, nor stay there: what is asked meanwhile fails with a sentence.
 */
export async function theaterMcp({ theater, codec, http, tcp, stdio, insecure = false, json = false }: TheaterMcpOptions): Promise<void> {
  bearGoneReaders(process.stdout);
  const overStdio = stdio === true || (http === undefined && tcp === undefined);
  const held = overStdio || json ? holdOutput() : undefined;
  const log = serverLog("info", json, () => systemClock.now());
  await using stage = remoteStage({ ...theater, codec, log: forLog(log) });
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
  const common = { gateway, log: forLog(log) };
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
  // One grace for all: what the calls left over.
  const graceMs = Math.max(0, GRACE_MS - (systemClock.now() - from));
  await Promise.all([httpListener?.close({ graceMs }), tcpListener?.close({ graceMs }), stdioListener?.close()]);
}
