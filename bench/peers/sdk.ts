// The official SDK v2 as in its documentation: one handler, and a new server for each request.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

const tools = Number(process.argv[2] ?? "2");
let count = 0;
const handler = createMcpHandler(() => {
  const mcp = new McpServer({ name: "counter", version: "1.0.0" });
  mcp.registerTool("add", { description: "Add to the counter.", inputSchema: z.object({ by: z.number().default(1) }) }, ({ by }) => {
    count += by;
    return { content: [{ type: "text", text: String(count) }] };
  });
  for (let n = 1; n < tools; n += 1)
    mcp.registerTool(
      `tool_${n}`,
      {
        description: `Tool number ${n} of the list.`,
        inputSchema: z.object({ text: z.string().describe("Any text"), times: z.number().int().min(1).max(10).default(1) }),
      },
      ({ text }) => ({
        content: [{ type: "text", text }],
      }),
    );
  return mcp;
});
const handle = toNodeHandler(handler);
// Node's request type is stricter about absent fields than that of the adapter.
const server = createServer(
  (request, response) => void handle(Object.assign(request, { method: request.method ?? "GET", url: request.url ?? "/" }), response),
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
