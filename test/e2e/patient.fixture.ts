import { setTimeout as wait } from "node:timers/promises";
import { actor } from "troupe";
import * as z from "zod";

/** Has a tool that ends only after the server was told to. */
export default actor("patient", {
  describe: "Waits.",
  per: "shared",
  persistence: "disk",
  state: z.object({ done: z.int().default(0) }),
  tools: {
    wait: {
      describe: "Waits until the server stops.",
      async work({ state, progress }) {
        const stopped = new Promise<void>((done) => void process.once("SIGTERM", () => done()));
        progress(0, 1);
        await stopped;
        await wait(50);
        state.done += 1;
        return "Done.";
      },
    },
    get: { describe: "How often it was done.", view: (state) => state.done },
  },
});
