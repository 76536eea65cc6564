// The code of docs/recipes/new-id.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

export const notes = actor("notes", {
  description: "Your notes.",
  per: "user",
  state: z.object({ texts: z.record(z.string(), z.string()).default({}) }),
  tools: {
    add_note: {
      description: "Add a note. Returns its id.",
      input: z.object({ text: z.string().min(1) }),
      output: z.object({ id: z.string() }),
      run({ state, args, id }) {
        const note = id();
        state.texts[note] = args.text;
        return { id: note };
      },
    },
  },
  resources: {
    note: { uri: "note://{id}", view: ({ state, args }) => state.texts[args.id] ?? refuse("There is no such note.", { code: "UNKNOWN" }) },
  },
});
