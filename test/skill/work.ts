// The code of skills/troupe/SKILL.md: work, which may wait.
import { actor, refuse } from "troupe";
import * as z from "zod";

const Weather = z.object({ celsius: z.number() });

export const garden = actor("garden", {
  description: "Your garden.",
  per: "user",
  state: z.object({ celsius: z.number().optional() }),
  tools: {
    measure: {
      description: "Ask the weather service.",
      async work({ state, signal, record }) {
        const response = await fetch(process.env["WEATHER_URL"] ?? "http://127.0.0.1:9/weather", { signal }).catch(() => undefined);
        if (response?.ok !== true) return refuse("The weather service does not answer. Try again later.");
        const { celsius } = Weather.parse(await response.json());
        record({ celsius });
        state.celsius = celsius;
        return { celsius };
      },
    },
  },
});
