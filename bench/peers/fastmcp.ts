// FastMCP with sessions and JSON responses.
import { once } from "node:events";
import { createServer } from "node:net";
import { FastMCP } from "fastmcp";
import * as z from "zod";

const tools = Number(process.argv[2] ?? "1");
let count = 0;
const mcp = new FastMCP({ name: "counter", version: "1.0.0", ping: { enabled: false } });
mcp.addTool({
  name: "add",
  description: "Add to the counter.",
  parameters: z.object({ by: z.number().default(1) }),
  async execute({ by }) {
    count += by;
    return String(count);
  },
});
for (let n = 1; n < tools; n += 1)
  mcp.addTool({
    name: `tool_${n}`,
    description: `Tool number ${n} of the list.`,
    parameters: z.object({ text: z.string().describe("Any text"), times: z.number().int().min(1).max(10).default(1) }),
    execute: async ({ text }) => text,
  });

// FastMCP does not report its port, so a free one is chosen first.
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const address = probe.address();
const port = typeof address === "object" && address !== null ? address.port : 0;
probe.close();
await once(probe, "close");
await mcp.start({ transportType: "httpStream", httpStream: { host: "127.0.0.1", port, enableJsonResponse: true } });
console.log(JSON.stringify({ ready: true, port }));
