// mcp-lite without sessions, on Hono's server for Node as in its README. The official SDK v1 depends on that server.
import { serve } from "@hono/node-server";
import { McpServer, StreamableHttpTransport } from "mcp-lite";
import * as z from "zod";

const tools = Number(process.argv[2] ?? "1");
let count = 0;
const mcp = new McpServer({
  name: "counter",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(z.instanceof(z.ZodType).parse(schema)),
});
mcp.tool("add", {
  description: "Add to the counter.",
  inputSchema: z.object({ by: z.number().default(1) }),
  handler({ by }) {
    count += by;
    return { content: [{ type: "text", text: String(count) }] };
  },
});
for (let n = 1; n < tools; n += 1)
  mcp.tool(`tool_${n}`, {
    description: `Tool number ${n} of the list.`,
    inputSchema: z.object({ text: z.string().describe("Any text"), times: z.number().int().min(1).max(10).default(1) }),
    handler: ({ text }) => ({ content: [{ type: "text", text }] }),
  });
const fetch = new StreamableHttpTransport().bind(mcp);
serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log(JSON.stringify({ ready: true, port })));
