// The code of docs/recipes/live-updates.md.
import { actor } from "troupe";
import * as z from "zod";

export const sensor = actor("sensor", {
  description: "A sensor.",
  state: z.object({ celsius: z.number().default(20), battery: z.number().default(100) }),
  tools: {
    report: {
      description: "Report a measurement.",
      input: z.object({ celsius: z.number(), battery: z.number() }),
      run({ state, args }) {
        state.celsius = args.celsius;
        state.battery = args.battery;
      },
    },
  },
  resources: {
    temperature: {
      uri: "sensor://temperature",
      mimeType: "application/json",
      reads: ["celsius"],
      view: ({ state }) => ({ celsius: state.celsius, warm: state.celsius > 25 }),
    },
  },
});
