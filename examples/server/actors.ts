import { actor } from "troupe";
import type { Log } from "troupe/contract";
import { serveActors, type ServedActors } from "troupe/server";
import * as z from "zod";

const job = actor("job", {
  description: "A job.",
  per: "handle",
  state: z.object({ steps: z.int().default(0) }),
  tools: {
    step: { description: "Does a step.", run: ({ state }) => `Step ${++state.steps} is done.` },
    spill: {
      description: "Fails.",
      run() {
        throw new TypeError("It was full.");
      },
    },
  },
});

export const serveJobs = (directory: string, log: Log): Promise<ServedActors> =>
  serveActors({
    kinds: [job],
    directory,
    name: "jobs",
    log,
    onFault: (error, fault) => log("error", { event: "fault", ...fault, why: String(error) }),
  });

if (import.meta.main) {
  const actors = await serveActors({ kinds: [job], directory: "data", http: { port: 3000 } });
  console.log(`MCP at ${actors.url}`);
  process.once("SIGTERM", () => void actors.close({ graceMs: 10_000 }));
}
