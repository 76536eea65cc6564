// The code of docs/recipes/limit-the-model.md.
import { actor } from "troupe";
import * as z from "zod";

export const archive = actor("archive", {
  description: "Documents.",
  state: z.object({ titles: z.array(z.string()).default(["Plan", "Budget"]), locked: z.boolean().default(false) }),
  tools: {
    // A view cannot write, so clients are told that it only reads.
    list: { description: "List the documents.", view: ({ state }) => ({ titles: state.titles }) },
    // Only what exists can be removed, only while the archive is not locked, and the person confirms it.
    remove: {
      description: "Remove a document.",
      input: z.object({ title: z.string() }),
      choices: { title: ({ state }) => state.titles },
      enabled: ({ state }) => !state.locked || "The archive is locked.",
      annotations: { destructiveHint: true },
      confirm: ({ args }) => `Remove "${args.title}"?`,
      run: ({ state, args }) => void (state.titles = state.titles.filter((title) => title !== args.title)),
    },
    // Needs a token with this scope, whatever the model says.
    lock: { description: "Lock the archive.", scopes: ["archive:admin"], run: ({ state }) => void (state.locked = true) },
  },
});
