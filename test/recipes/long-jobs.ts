// The code of docs/recipes/long-jobs.md.
import { actor } from "troupe";
import * as z from "zod";

/** Stands for something slow: a download, a model, a conversion. */
const summaryOf = async (text: string, _signal: AbortSignal): Promise<string> => `${text.slice(0, 20)} …`;

export const job = actor("job", {
  description: "Summarizes texts, one after the other.",
  per: "user",
  state: z.object({ waiting: z.array(z.string()).default([]), summaries: z.array(z.string()).default([]) }),
  tools: {
    start: {
      description: "Summarize these texts. Returns at once; `status` has the result later.",
      input: z.object({ texts: z.array(z.string()).min(1).max(1_000) }),
      enabled: ({ state }) => state.waiting.length === 0 || "A job is running.",
      run({ state, args, send, messages }) {
        state.waiting = args.texts;
        state.summaries = [];
        send(messages.next());
        return "Started. Call `status` for the result.";
      },
    },
    status: {
      description: "How far the job is, and its summaries.",
      view: ({ state }) => ({ waiting: state.waiting.length, summaries: state.summaries }),
    },
    cancel: { description: "Stop the job.", run: ({ state }) => void (state.waiting = []) },
  },
  messages: {
    next: {
      async work({ state, send, messages, signal }) {
        const [text] = state.waiting;
        if (text === undefined) return;
        state.summaries.push(await summaryOf(text, signal));
        state.waiting.shift();
        if (state.waiting.length > 0) send(messages.next());
      },
    },
  },
});
