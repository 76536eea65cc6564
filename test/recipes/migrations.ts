// The code of docs/recipes/migrations.md.
import { actor } from "troupe";
import * as z from "zod";

const Version1 = z.object({ name: z.string() });
const Version2 = z.object({ first: z.string(), last: z.string().default("") });

export const contact = actor("contact", {
  description: "A contact.",
  version: 3,
  state: Version2.extend({ tags: z.array(z.string()).default([]) }),
  initial: () => ({ first: "", last: "", tags: [] }),
  migrate({ state, from }) {
    if (from > 1) return { ...Version2.parse(state), tags: [] };
    const [first = "", ...rest] = Version1.parse(state).name.split(" ");
    return { first, last: rest.join(" "), tags: [] };
  },
  tools: {
    tag: { description: "Add a tag.", input: z.object({ tag: z.string() }), run: ({ state, args }) => void state.tags.push(args.tag) },
  },
  resources: { contact: { uri: "contact://main", view: ({ state }) => state } },
});
