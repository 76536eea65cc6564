// Asks, once its process has been told to stop, whether the server in it is ready.
import { once } from "node:events";
import { registry } from "troupe/source";
import * as z from "zod";

const waits = Promise.withResolvers<string>();

export default registry({
  tools: {
    own_readiness: {
      describe: "Waits for the signal to stop.",
      input: z.object({ url: z.string() }),
      run: async ({ url }) => {
        const stopped = once(process, "SIGTERM");
        waits.resolve("It waits.");
        await stopped;
        return `${(await fetch(typeof url === "string" ? url : "")).status}`;
      },
    },
    until_it_waits: { describe: "Until the other one waits.", run: () => waits.promise },
  },
});
