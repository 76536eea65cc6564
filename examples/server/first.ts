import { createServer } from "troupe/server";
import * as z from "zod";

export const server = createServer("hello", "1.0.0");

server.tools.register(
  { name: "echo", description: "Echo back the provided message.", input: z.object({ message: z.string() }) },
  ({ args }) => args.message,
);

export const { http } = await server.listen({ http: { port: Number(process.env["PORT"] ?? 3000) } });
console.log(`MCP at ${http.url}`);
process.once("SIGTERM", () => void server.close({ graceMs: 10_000 }));
