// The code of docs/recipes/proxy.md.
import { actor } from "troupe";
import { serveActors } from "troupe/server";
import * as z from "zod";

export const counter = actor("counter", {
  description: "A counter.",
  per: "user",
  state: z.object({ n: z.int().default(0) }),
  tools: { add: { description: "Add one.", run: ({ state }) => (state.n += 1) } },
});

/** `host` is the name that clients use. `sha256` is the hash of the key that they send. */
export const start = (port: number, host: string, sha256: string) =>
  serveActors({
    kinds: [counter],
    auth: { keys: [{ name: "ann", sha256 }] },
    allowedHosts: [host],
    http: { port, limits: { connectionsPerPeer: 10_000 } },
  });
