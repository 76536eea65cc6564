// The code of docs/recipes/retries.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

export const wallet = actor("wallet", {
  description: "Your wallet.",
  per: "user",
  state: z.object({ balance: z.int().default(100) }),
  tools: {
    pay: {
      description: "Pay somebody.",
      input: z.object({ to: z.string(), amount: z.int().min(1) }),
      run({ state, args }) {
        if (args.amount > state.balance) refuse(`You have only ${state.balance}.`);
        state.balance -= args.amount;
        return `Paid ${args.amount} to ${args.to}. ${state.balance} left.`;
      },
    },
  },
});
