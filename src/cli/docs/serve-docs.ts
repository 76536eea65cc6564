// Owns: `troupe docs`: its transports and its end. Does not own: what is served (docs-server.ts).
import { omitUndefined } from "../../core/contract/internal.ts";
import { systemClock } from "../../core/contract/index.ts";
import { forLog, serverLog } from "../log.ts";
import type { HostPort } from "../option-parsers.ts";
import { bearGoneReaders, holdOutput, paintError } from "../output.ts";
import { stopSignal } from "../server-process.ts";
import { docsServer } from "./docs-server.ts";

export interface DocsOptions {
  readonly http?: HostPort;
  readonly stdio?: boolean;
  readonly json?: boolean;
}

const GRACE_MS = 1_000;

/** Serves the documentation until it is stopped, or its client closes standard input. */
export const serveDocs = async ({ http, stdio, json = false }: DocsOptions, version: string): Promise<void> => {
  bearGoneReaders(process.stdout);
  const overStdio = stdio === true || http === undefined;
  const held = overStdio || json ? holdOutput() : undefined;
  const log = serverLog("warn", json, () => systemClock.now());
  await using server = docsServer(version, { log: forLog(log) });
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
