// The code of docs/guide/time.md.
import * as z from "zod";
import { actor } from "troupe";

export const chore = actor("chore", {
  description: "A chore that comes again.",
  per: "user",
  state: z.object({ due: z.array(z.string()).default([]) }),
  tools: {
    remind: {
      description: "Remind me of a chore in a number of minutes.",
      input: z.object({ title: z.string(), minutes: z.number().min(1).max(10_080) }),
      run: ({ args, wake, messages }) => wake(args.title, { afterMs: args.minutes * 60_000, message: messages.due({ title: args.title }) }),
    },
    remind_on_weekdays: {
      description: "Remind me of a chore at nine on weekdays.",
      input: z.object({ title: z.string() }),
      run: ({ args, wake, messages }) =>
        wake(args.title, { cron: "0 9 * * 1-5", timeZone: "Europe/Berlin", message: messages.due({ title: args.title }) }),
    },
  },
  messages: {
    due: {
      input: z.object({ title: z.string() }),
      run({ state, args }) {
        state.due.push(args.title);
      },
    },
  },
});
