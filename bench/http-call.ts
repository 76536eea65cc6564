// README: a tools/call over HTTP against a bare node:http echo, and against the official SDK's server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, serve, start } from "./child.ts";
import { compete, post, type Shot } from "./load.ts";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};

export const portOf = (url: unknown): number => Number(new URL(String(url)).port);

/** Opens a legacy session and returns its headers. */
export const openSession = async (port: number): Promise<Readonly<Record<string, string>>> => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const url = `http://127.0.0.1:${port}/mcp`;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
  });
  const response = await fetch(url, { method: "POST", headers, body });
  await response.text();
  const session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-11-25" };
  await fetch(url, {
    method: "POST",
    headers: { ...headers, ...session },
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
  }).then((ended) => ended.text());
  return session;
};

export const legacyCall = (port: number, session: Readonly<Record<string, string>>, tool: string): Shot => ({
  port,
  text: (id) =>
    post(port, "/mcp", JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool, arguments: {} } }), session),
  good: (body) => body.includes('"content"') && !body.includes('"isError":true') && !body.includes('"error"'),
});

export const modernCall = (port: number, tool: string): Shot => ({
  port,
  text: (id) =>
    post(port, "/mcp", JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: tool, arguments: {}, _meta: MODERN } }), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": tool,
    }),
  good: (body) => body.includes('"content"') && !body.includes('"isError":true') && !body.includes('"error"'),
});

export const run = async (): Promise<void> => {
  const data = mkdtempSync(join(tmpdir(), "bench-"));
  const echo = await start(["bench/echo.ts"]);
  const sdk = await start(["sdk.ts"], { cwd: join(root, "bench/peers") });
  const memory = await serve("examples/counter", join(data, "memory"));
  const disk = await serve("examples/counter-disk", join(data, "disk"));
  try {
    const [echoPort, sdkPort] = [Number(echo.ready["port"]), Number(sdk.ready["port"])];
    const [memoryPort, diskPort] = [portOf(memory.ready["http"]), portOf(disk.ready["http"])];
    const figures = await compete({
      "bare node:http echo": { ...legacyCall(echoPort, {}, "add") },
      "troupe, memory, session": legacyCall(memoryPort, await openSession(memoryPort), "add"),
      "troupe, memory, 2026-07-28": modernCall(memoryPort, "add"),
      "troupe, disk, session": legacyCall(diskPort, await openSession(diskPort), "add"),
      "official SDK server, 2026-07-28": modernCall(sdkPort, "add"),
    });
    const sdkRate = figures["official SDK server, 2026-07-28"]?.rate ?? Number.NaN;
    for (const [name, { rate, ratio, bad }] of Object.entries(figures))
      console.log(
        `${name.padEnd(34)} ${rate.toFixed(0).padStart(8)}/s  ${ratio.toFixed(2)} of the echo  ${(rate / sdkRate).toFixed(1).padStart(6)} × the SDK${bad > 0 ? `  ${bad} BAD ANSWERS` : ""}`,
      );
  } finally {
    await Promise.all([echo.stop(), sdk.stop(), memory.stop(), disk.stop()]);
    rmSync(data, { recursive: true, force: true });
  }
};
