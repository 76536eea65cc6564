// After its process got SIGTERM, requests the readiness of its own server.
import { once } from "node:events";
import { registry } from "troupe/source";
import * as z from "zod";

const waits = Promise.withResolvers<string>();

export default registry({
  tools: {
    own_readiness: {
      description: "Waits for the signal to stop.",
      input: z.object({ urls: z.array(z.string()) }),
      work: async ({ args: { urls } }) => {
        const stopped = once(process, "SIGTERM");
        waits.resolve("It waits.");
        await stopped;
        const statuses = (Array.isArray(urls) ? urls : []).map(async (url) => (await fetch(String(url))).status);
        return (await Promise.all(statuses)).join(" ");
      },
    },
    until_it_waits: { description: "Until the other one waits.", work: () => waits.promise },
  },
});
