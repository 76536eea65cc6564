// The code of docs/recipes/expire.md.
import { actor } from "troupe";
import * as z from "zod";

const HOUR_MS = 3_600_000;

export const draft = actor("draft", {
  description: "A draft that disappears after a day without changes.",
  per: "user",
  expireMs: 24 * HOUR_MS,
  state: z.object({ text: z.string().default(""), warned: z.boolean().default(false) }),
  tools: {
    write: {
      description: "Write the draft.",
      input: z.object({ text: z.string() }),
      run({ state, args, wake, messages }) {
        state.text = args.text;
        state.warned = false;
        wake("warn", { afterMs: 20 * HOUR_MS, message: messages.warn() });
      },
    },
    discard: { description: "Delete the draft now.", run: ({ stop }) => stop("discarded") },
  },
  resources: { draft: { uri: "draft://mine", view: ({ state }) => (state.warned ? `${state.text} (expires soon)` : state.text) } },
  messages: { warn: { run: ({ state }) => void (state.warned = true) } },
});
