import { setTimeout as wait } from "node:timers/promises";
import { actor } from "troupe";
import * as z from "zod";

/** A tool that ends only after the server was signalled to stop. */
export default actor("patient", {
  description: "Waits.",
  per: "shared",
  persistence: "disk",
  state: z.object({ done: z.int().default(0) }),
  tools: {
    wait: {
      description: "Waits until the server stops.",
      async work({ state, progress }) {
        const stopped = new Promise<void>((done) => void process.once("SIGTERM", () => done()));
        progress(0, 1);
        await stopped;
        await wait(50);
        state.done += 1;
        return "Done.";
      },
    },
    get: { description: "How often it was done.", view: ({ state }) => state.done },
  },
});
