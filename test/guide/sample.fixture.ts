// The code of docs/guide/questions.md.
import { actor, refuse, sample } from "troupe";
import * as z from "zod";

export const draft = actor("draft", {
  description: "A draft.",
  per: "user",
  state: z.object({ text: z.string().default("It was a dark and stormy night."), summary: z.string().default("") }),
  tools: {
    summarize: {
      description: "Has your client's model summarize it.",
      run({ state, ask, can }) {
        if (!can("sampling")) refuse("Your client has no model to lend.");
        const messages = [{ role: "user", content: { type: "text", text: `Summarize: ${state.text}` } }];
        const { said } = ask({ said: sample({ messages, maxTokens: 300 }) });
        state.summary = said.text;
      },
    },
  },
});
