// The code of docs/guide/actors.md.
import { actor } from "troupe";
import * as z from "zod";

export const poll = actor("poll", {
  description: "A poll about lunch.",
  per: "shared",
  state: z.object({
    open: z.boolean().default(true),
    dishes: z.array(z.string()).default(["soup", "pizza"]),
    votes: z.record(z.string(), z.string()).default({}),
  }),
  tools: {
    vote: {
      description: "Vote for a dish. You can vote again to change your mind.",
      input: z.object({ dish: z.string() }),
      choices: { dish: ({ state }) => state.dishes },
      enabled: ({ state }) => state.open || "The poll is closed.",
      run({ state, args, viewer, wake, messages }) {
        state.votes[viewer.principal ?? "somebody"] = args.dish;
        wake("close", { afterMs: 60 * 60_000, message: messages.close() });
        return `You voted for ${args.dish}.`;
      },
    },
    result: {
      description: "Count the votes.",
      view: ({ state }) => ({ open: state.open, votes: state.votes }),
    },
  },
  resources: {
    dishes: { uri: "poll://dishes", mimeType: "application/json", view: ({ state }) => state.dishes },
  },
  prompts: {
    decide: { description: "Help me vote", view: ({ state }) => `Which of these is healthy: ${state.dishes.join(", ")}?` },
  },
  messages: {
    close: {
      run({ state }) {
        state.open = false;
      },
    },
  },
});
