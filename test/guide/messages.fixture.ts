// The code of docs/guide/messages.md, except that of later.fixture.ts and the examples.
import { actor, isSignedIn } from "troupe";
import * as z from "zod";

const Text = z.object({ text: z.string() });

export const inbox = actor("inbox", {
  description: "Your messages.",
  per: "user",
  state: z.object({ texts: z.array(z.string()).default([]) }),
  messages: {
    notify: {
      input: Text,
      run({ state, args }) {
        state.texts.push(args.text);
      },
    },
  },
  resources: { texts: { uri: "inbox://mine", view: ({ state }) => state.texts } },
});

export const news = actor("news", {
  description: "News for everybody who follows.",
  state: z.object({ followers: z.array(z.string()).default([]) }),
  tools: {
    follow: {
      description: "Follow the news.",
      run({ state, viewer, send }) {
        if (!isSignedIn(viewer)) return;
        state.followers.push(viewer.principal);
        send(inbox.at(viewer.principal).notify({ text: "Welcome." }));
      },
    },
    publish: {
      description: "Send news to all followers.",
      input: Text,
      run({ state, args, send, settled }) {
        send(inbox.each(state.followers).notify({ text: args.text }));
        return settled(`Sent to ${state.followers.length} followers.`);
      },
    },
  },
});

export const leave = actor("leave", {
  description: "Requests for leave.",
  state: z.object({ waiting: z.record(z.string(), z.string()).default({}) }),
  tools: {
    request: {
      description: "Ask for a day off. Replies when somebody has decided.",
      input: z.object({ day: z.string() }),
      run({ state, args, message, later }) {
        state.waiting[args.day] = message.id;
        return later();
      },
    },
    approve: {
      description: "Approve a day off.",
      input: z.object({ day: z.string() }),
      choices: { day: ({ state }) => Object.keys(state.waiting) },
      run({ state, args, answer }) {
        const caller = state.waiting[args.day];
        if (caller === undefined) return;
        delete state.waiting[args.day];
        answer(caller, `You are free on ${args.day}.`);
      },
    },
  },
});
