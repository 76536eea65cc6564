import { actor } from "troupe";
import * as z from "zod";

/** Any number of notebooks, each reached only by its handle. */
export default actor("notebook", {
  description: "A notebook.",
  per: "handle",
  persistence: "disk",
  state: z.object({ lines: z.array(z.string()).default([]) }),
  tools: {
    write: {
      description: "Write a line.",
      input: z.object({ line: z.string() }),
      run({ state, args }) {
        state.lines.push(args.line);
        return `${state.lines.length} lines.`;
      },
    },
    count: { description: "How many lines there are.", view: ({ state }) => String(state.lines.length) },
  },
  resources: { lines: { uri: "notebook://lines", mimeType: "application/json", view: ({ state }) => state } },
  prompts: {
    recall: {
      description: "Recall a line.",
      arguments: [{ name: "line", required: true }],
      choices: { line: ({ state }) => [...state.lines] },
      view: ({ args }) => `Recall: ${args["line"]}`,
    },
  },
});
