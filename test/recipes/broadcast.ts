// The code of docs/recipes/broadcast.md.
import { actor } from "troupe";
import * as z from "zod";

const Text = z.object({ text: z.string() });

export const inbox = actor("inbox", {
  description: "Your messages.",
  per: "user",
  state: z.object({ texts: z.array(z.string()).default([]) }),
  resources: { inbox: { uri: "inbox://mine", view: ({ state }) => state.texts } },
  messages: { notify: { input: Text, run: ({ state, args }) => void state.texts.push(args.text) } },
});

export const channel = actor("channel", {
  description: "A channel that sends to all its members.",
  state: z.object({ members: z.array(z.string()).default([]) }),
  tools: {
    join: {
      description: "Receive what is published.",
      enabled: ({ state, viewer }) => !state.members.includes(viewer.principal ?? "") || "You are a member.",
      run: ({ state, viewer }) => void (viewer.principal && state.members.push(viewer.principal)),
    },
    publish: {
      description: "Send a text to all members.",
      input: Text,
      run: ({ state, args, send }) => void send(inbox.each(state.members).notify(args)),
    },
  },
});
