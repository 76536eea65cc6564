// The code of docs/guide/long-work.md.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { actor, refuse } from "troupe";
import * as z from "zod";

const Weather = z.object({ celsius: z.number() });

export const garden = actor("garden", {
  description: "A garden.",
  state: z.object({ celsius: z.number().default(0) }),
  tools: {
    measure: {
      description: "Asks the weather's server.",
      async work({ state, signal, record }) {
        const client = new Client({ name: "garden", version: "1.0.0" });
        try {
          await client.connect(new StreamableHTTPClientTransport(new URL(process.env["WEATHER_URL"] ?? "http://127.0.0.1:3000/mcp")));
          const result = await client.callTool({ name: "weather", arguments: {} }, { signal });
          record({ weather: result.structuredContent });
          state.celsius = Weather.parse(result.structuredContent).celsius;
          return { celsius: state.celsius };
        } catch (error) {
          record({ failed: String(error) });
          return refuse("The weather cannot be had now.", { code: "AWAY" });
        } finally {
          await client.close();
        }
      },
    },
  },
});
