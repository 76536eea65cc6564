// README: tools/list of 50 tools, against the official SDK's server and a server that sends the same bytes without looking.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, serve, start } from "./child.ts";
import { openSession, portOf } from "./http-call.ts";
import { compete, post, type Shot } from "./load.ts";

const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

const good = (text: string): boolean => text.includes('"tool_') && text.includes("tools");

export const run = async (): Promise<void> => {
  const data = mkdtempSync(join(tmpdir(), "bench-"));
  const troupe = await serve("bench/kinds/fifty.ts", data);
  const sdk = await start(["sdk.ts", "50"], { cwd: join(root, "bench/peers") });
  const port = portOf(troupe.ready["http"]);
  const session = await openSession(port);
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = await fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", headers: { ...headers, ...session }, body: LIST }).then(
    (response) => response.text(),
  );
  const constant = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => constant.listen(0, "127.0.0.1", resolve));
  const address = constant.address();
  const constantPort = typeof address === "object" && address !== null ? address.port : 0;
  const shot = (to: number, extra: Readonly<Record<string, string>>, text = LIST): Shot => ({
    port: to,
    text: (id) => post(to, "/mcp", text.replace('"id":1', `"id":${id}`), extra),
    good,
  });
  const modern = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } });
  const modernHeaders = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  try {
    const figures = await compete(
      {
        "constant bytes (in the load's process)": shot(constantPort, {}),
        "troupe, session": shot(port, session),
        "troupe, 2026-07-28": shot(port, modernHeaders, modern),
        "official SDK server": shot(Number(sdk.ready["port"]), modernHeaders, modern),
      },
      { rounds: 5, connections: 16 },
    );
    const slow = figures["official SDK server"]?.rate ?? Number.NaN;
    console.log(`${body.length} bytes of list`);
    for (const [name, { rate, bad }] of Object.entries(figures))
      console.log(
        `${name.padEnd(40)} ${rate.toFixed(0).padStart(8)}/s  ${(rate / slow).toFixed(1).padStart(6)} × the SDK${bad > 0 ? `  ${bad} BAD ANSWERS` : ""}`,
      );
  } finally {
    constant.close();
    await Promise.all([troupe.stop(), sdk.stop()]);
    rmSync(data, { recursive: true, force: true });
  }
};
