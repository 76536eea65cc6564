// The code of docs/recipes/call-a-server.md.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { actor, refuse } from "troupe";
import * as z from "zod";

const Weather = z.object({ celsius: z.number() });

export const garden = actor("garden", {
  description: "A garden that knows the temperature.",
  state: z.object({ celsius: z.number().optional() }),
  tools: {
    measure: {
      description: "Ask the weather server for the temperature.",
      async work({ state, signal, record }) {
        const client = new Client({ name: "garden", version: "1.0.0" });
        try {
          await client.connect(new StreamableHTTPClientTransport(new URL(process.env["WEATHER_MCP"] ?? "http://127.0.0.1:3001/mcp")));
          const { structuredContent } = await client.callTool({ name: "weather", arguments: {} }, { signal });
          record({ weather: structuredContent });
          state.celsius = Weather.parse(structuredContent).celsius;
          return { celsius: state.celsius };
        } catch (error) {
          record({ failed: String(error) });
          return refuse("The weather server does not answer. Try again later.", { code: "UNAVAILABLE" });
        } finally {
          await client.close();
        }
      },
    },
  },
});
