// The code of docs/recipes/unique-names.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

/** One actor for each name. Its mailbox decides who comes first. */
export const username = actor("username", {
  description: "A user name.",
  per: "link",
  autoStart: true,
  state: z.object({ owner: z.string().optional() }),
  messages: {
    claim: {
      output: z.object({ name: z.string() }),
      run({ state, from, key }) {
        if (state.owner !== undefined && state.owner !== from) refuse(`The name ${key} is taken.`, { code: "TAKEN" });
        state.owner = from;
        return { name: key };
      },
    },
    release: {
      run({ state, from }) {
        if (state.owner === from) delete state.owner;
      },
    },
  },
});

export const profile = actor("profile", {
  description: "Your profile.",
  per: "user",
  state: z.object({ name: z.string().optional() }),
  tools: {
    choose_name: {
      description: "Choose your user name.",
      input: z.object({ name: z.string().regex(/^[a-z0-9]{2,20}$/) }),
      run: ({ args, request }) => request(username.at(args.name).claim(), "claimed"),
    },
  },
  replies: {
    claimed: {
      of: username.message("claim"),
      run({ state, reply, send }) {
        if (state.name !== undefined && state.name !== reply.name) send(username.at(state.name).release());
        state.name = reply.name;
        return `You are ${reply.name}.`;
      },
    },
  },
});
