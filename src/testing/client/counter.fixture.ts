import * as z from "zod";
import { actor } from "../../core/actor/index.ts";

/** A count of everybody's own, with dice and a watch. */
export const counterKind = actor("counter", {
  description: "Counts.",
  per: "user",
  persistence: "disk",
  state: z.object({ n: z.int().default(0) }),
  tools: {
    add: {
      description: "Adds one.",
      run({ state }) {
        state.n += 1;
        return String(state.n);
      },
    },
    roll: { description: "Rolls a die.", run: ({ random }) => String(random()) },
    when: { description: "Tells the time.", run: ({ message }) => String(message.at) },
    crash: {
      description: "Breaks.",
      run() {
        throw new Error("a secret");
      },
    },
  },
});
