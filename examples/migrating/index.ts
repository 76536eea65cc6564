import { elicit } from "troupe";
import { fromMcpServer, type McpServerSource } from "troupe/mount";
import { createServer, type Server } from "troupe/server";
import { prefix } from "troupe/source";
import * as z from "zod";
import { old } from "./old.ts";

export interface Moving {
  readonly server: Server;
  readonly source: McpServerSource;
}

/** First: all that there is, served by Troupe. */
export function mounted(): Moving {
  const source = fromMcpServer(old().server);
  const server = createServer("town", "2.0.0", { sources: [source] });
  return { server, source };
}

/** Each principal with a server of its own, under a name that nothing else has. */
export function ownTown(): Moving {
  const source = fromMcpServer(() => old().server, { idleMs: 60_000, maxServers: 100 });
  const server = createServer("towns", "2.0.0", { sources: [prefix("town", source)] });
  return { server, source };
}

/** Then tool by tool: what is written anew is taken from the old server. */
export function moved(): Moving {
  const { server: left, removeWeather } = old();
  const source = fromMcpServer(left);
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

/** What opened it, closes it: sources stay their owners'. */
export async function closed({ server, source }: Moving): Promise<void> {
  await server.close();
  await source.close();
}
