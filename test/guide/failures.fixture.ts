// The code of docs/guide/failures.md.
import { actor } from "troupe";
import * as z from "zod";

export const pump = actor("pump", {
  description: "A pump.",
  per: "link",
  restart: { max: 3, withinMs: 60_000 },
  state: z.object({ litres: z.number().default(0) }),
  messages: {
    fill: {
      input: z.object({ litres: z.number() }),
      run({ state, args }) {
        if (args.litres < 0) throw new Error("A pump cannot pump backwards.");
        state.litres += args.litres;
      },
    },
  },
});

export const station = actor("station", {
  description: "A station with a pump.",
  state: z.object({ failures: z.int().default(0) }),
  tools: {
    pump_up: {
      description: "Fill a tank.",
      input: z.object({ litres: z.number() }),
      run({ args, create, send }) {
        create(pump.at("1"));
        send(pump.at("1").fill(args));
      },
    },
  },
  messages: {
    failed: {
      run({ state, args, restart }) {
        state.failures += 1;
        restart(args.child);
      },
    },
  },
});
