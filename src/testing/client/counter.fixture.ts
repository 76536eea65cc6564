import * as z from "zod";
import { actor } from "../../core/actor/index.ts";

/** A count of everybody's own, with dice and a watch. */
export const counterKind = actor("counter", {
  describe: "Counts.",
  per: "user",
  persistence: "disk",
  state: z.object({ n: z.int().default(0) }),
  tools: {
    add: {
      describe: "Adds one.",
      run({ state }) {
        state.n += 1;
        return String(state.n);
      },
    },
    roll: { describe: "Rolls a die.", run: ({ random }) => String(random()) },
    when: { describe: "Tells the time.", run: ({ message }) => String(message.at) },
    crash: {
      describe: "Breaks.",
      run() {
        throw new Error("a secret");
      },
    },
  },
});
