// The code of docs/recipes/agent-memory.md.
import { actor } from "troupe";
import * as z from "zod";

const MOST_FACTS = 300;
const wordsIn = (text: string): readonly string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u);

export const memory = actor("memory", {
  description: "What the agent should remember about this user.",
  per: "user",
  state: z.object({ last: z.int().default(0), facts: z.record(z.string(), z.string()).default({}) }),
  tools: {
    remember: {
      description: "Remember a fact about the user. Returns its id.",
      input: z.object({ fact: z.string().min(1).max(1_000) }),
      output: z.object({ id: z.string() }),
      enabled: ({ state }) => Object.keys(state.facts).length < MOST_FACTS || "The memory is full. Forget something first.",
      run({ state, args }) {
        const id = `F${(state.last += 1)}`;
        state.facts[id] = args.fact;
        return { id };
      },
    },
    recall: {
      description: "Find facts that contain one of these words.",
      input: z.object({ words: z.string() }),
      view({ state, args }) {
        const wanted = new Set(wordsIn(args.words));
        return { facts: Object.entries(state.facts).filter(([, fact]) => wordsIn(fact).some((word) => wanted.has(word))) };
      },
    },
    forget: {
      description: "Forget a fact.",
      input: z.object({ id: z.string() }),
      choices: { id: ({ state }) => Object.keys(state.facts) },
      run: ({ state, args }) => void delete state.facts[args.id],
    },
  },
  resources: { memory: { uri: "memory://facts", description: "All facts about the user.", view: ({ state }) => state.facts } },
});
