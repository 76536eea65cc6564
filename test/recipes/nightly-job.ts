// The code of docs/recipes/nightly-job.md.
import { actor } from "troupe";
import * as z from "zod";

export const ledger = actor("ledger", {
  description: "The books of a shop, which are closed every night.",
  state: z.object({ today: z.number().default(0), days: z.array(z.number()).default([]) }),
  tools: {
    sell: {
      description: "Record a sale.",
      input: z.object({ amount: z.number() }),
      run: ({ state, args }) => void (state.today += args.amount),
    },
  },
  resources: { books: { uri: "ledger://days", view: ({ state }) => state.days } },
  messages: {
    schedule: {
      run: ({ wake, messages }) => wake("close", { cron: "0 3 * * *", timeZone: "Europe/Berlin", message: messages.close() }),
    },
    close: {
      run({ state }) {
        state.days.push(state.today);
        state.today = 0;
      },
    },
  },
});
