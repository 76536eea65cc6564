import { elicit } from "troupe";
import { fromMcpServer, type McpServerSource } from "troupe/mount";
import { createServer, type Server } from "troupe/server";
import { prefix } from "troupe/source";
import * as z from "zod";
import { existingServer } from "./existing-server.ts";

/** A server, and the mounted server that it serves. */
export interface Migration {
  readonly server: Server;
  readonly source: McpServerSource;
}

/** Step 1: mount the existing server. */
export function mounted(): Migration {
  const source = fromMcpServer(existingServer().server);
  const server = createServer("town", "2.0.0", { sources: [source] });
  return { server, source };
}

/** A mounted server for each principal, with prefixed names. */
export function mountedPerPrincipal(): Migration {
  const source = fromMcpServer(() => existingServer().server, { idleMs: 60_000, maxServers: 100 });
  const server = createServer("towns", "2.0.0", { sources: [prefix("town", source)] });
  return { server, source };
}

/** Step 2: move one tool after the other. A tool that is registered here is removed from the existing server. */
export function moved(): Migration {
  const { server: existing, removeWeather } = existingServer();
  const source = fromMcpServer(existing);
  const server = createServer("town", "2.0.0", { sources: [source] });

  removeWeather();
  server.tools.register(
    {
      name: "weather",
      description: "The weather of a city.",
      input: z.object({ city: z.string() }),
      output: z.object({ celsius: z.number() }),
    },
    ({ args }) => ({ celsius: args.city.length }),
  );

  server.tools.register({ name: "build", input: z.object({ house: z.string() }) }, ({ args: { house }, ask }) => {
    const { sure } = ask({ sure: elicit(`Build ${house}?`, z.object({})) });
    return sure.action === "accept" ? `${house} is built.` : `There is no ${house}.`;
  });

  return { server, source };
}

/** Closes both: `server.close()` does not close its sources. */
export async function close({ server, source }: Migration): Promise<void> {
  await server.close();
  await source.close();
}
