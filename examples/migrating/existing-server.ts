// An existing server, written with the official SDK v1. A server of v2 is mounted in the same way.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";

export interface ExistingServer {
  readonly server: McpServer;
  /** Removes the tool `weather`; the SDK notifies its clients. */
  readonly removeWeather: () => void;
}

export function existingServer(): ExistingServer {
  const server = new McpServer({ name: "town", version: "1.0.0" }, { instructions: "Ask about the town." });

  const weather = server.registerTool(
    "weather",
    {
      description: "The weather of a city.",
      inputSchema: { city: z.string() },
      outputSchema: { celsius: z.number() },
    },
    ({ city }) => {
      const structuredContent = { celsius: city.length };
      return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
    },
  );

  server.registerTool("demolish", { inputSchema: { house: z.string() } }, async ({ house }) => {
    const { action } = await server.server.elicitInput({
      message: `Demolish ${house}?`,
      requestedSchema: { type: "object", properties: {} },
    });
    return { content: [{ type: "text", text: action === "accept" ? `${house} is gone.` : `${house} stays.` }] };
  });

  server.registerResource("house", new ResourceTemplate("houses://{+path}", { list: undefined }), {}, (uri, { path }) => ({
    contents: [{ uri: uri.href, text: `The house ${String(path)}.` }],
  }));

  server.registerPrompt("visit", { argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Show ${name} the town.` } }],
  }));

  return { server, removeWeather: () => weather.remove() };
}
