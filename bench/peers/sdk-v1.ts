// The official SDK v1: a transport and a server for each session, with JSON responses.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as z from "zod";

const tools = Number(process.argv[2] ?? "1");
let count = 0;
const sessions = new Map<string, StreamableHTTPServerTransport>();

const newServer = (): McpServer => {
  const mcp = new McpServer({ name: "counter", version: "1.0.0" });
  mcp.registerTool("add", { description: "Add to the counter.", inputSchema: { by: z.number().default(1) } }, ({ by }) => {
    count += by;
    return { content: [{ type: "text", text: String(count) }] };
  });
  for (let n = 1; n < tools; n += 1)
    mcp.registerTool(
      `tool_${n}`,
      {
        description: `Tool number ${n} of the list.`,
        inputSchema: { text: z.string().describe("Any text"), times: z.number().int().min(1).max(10).default(1) },
      },
      ({ text }) => ({ content: [{ type: "text", text }] }),
    );
  return mcp;
};

const transportOf = async (request: IncomingMessage): Promise<StreamableHTTPServerTransport> => {
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known !== undefined) return known;
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await newServer().connect(transport);
  return transport;
};

const server = createServer(
  (request, response) => void transportOf(request).then((transport) => transport.handleRequest(request, response)),
);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ ready: true, port: typeof address === "object" ? address?.port : 0 }));
});
