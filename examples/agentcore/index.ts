import { agentCoreHttp, forAgentCore } from "troupe/lambda";
import { createServer } from "troupe/server";
import * as z from "zod";

const { HOST = agentCoreHttp.host, PORT = agentCoreHttp.port } = process.env;

const server = createServer("hello", "1.0.0", forAgentCore);

server.tools.register(
  { name: "greet", description: "Greets somebody.", input: z.object({ name: z.string() }) },
  ({ args }) => `Hello, ${args.name}.`,
);

const { http } = await server.listen({ http: { ...agentCoreHttp, host: HOST, port: Number(PORT) } });
console.log(`MCP at ${http.url}`);
process.once("SIGTERM", () => void server.close());
