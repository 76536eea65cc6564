// The code of docs/recipes/counters.md.
import { actor } from "troupe";
import * as z from "zod";

const Choice = z.object({ choice: z.enum(["tea", "coffee"]) });

/** The totals. It knows no voters, so it stays small. */
export const tally = actor("tally", {
  description: "The result of the poll.",
  state: z.object({ tea: z.int().default(0), coffee: z.int().default(0) }),
  resources: { result: { uri: "poll://result", view: ({ state }) => state } },
  messages: {
    count: {
      input: Choice,
      output: z.object({ tea: z.int(), coffee: z.int() }),
      run: ({ state, args }) => ({ ...state, [args.choice]: (state[args.choice] += 1) }),
    },
  },
});

/** Each user's vote. It decides whether a vote counts. */
export const ballot = actor("ballot", {
  description: "Your vote.",
  per: "user",
  state: z.object({ choice: z.string().optional() }),
  tools: {
    vote: {
      description: "Vote once.",
      input: Choice,
      enabled: ({ state }) => state.choice === undefined || `You voted for ${state.choice}.`,
      run({ state, args, forward }) {
        state.choice = args.choice;
        return forward(tally.at("main").count(args));
      },
    },
  },
});
