// The code of docs/guide/users.md.
import { actor, hasClaim } from "troupe";
import * as z from "zod";

export const diary = actor("diary", {
  description: "Your diary.",
  per: "user",
  state: z.object({ pages: z.array(z.string()).default([]) }),
  tools: {
    write: {
      description: "Write a page.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.pages.push(args.text);
      },
    },
  },
  resources: { pages: { uri: "diary://mine", view: ({ state }) => state.pages } },
});

export const board = actor("board", {
  description: "A board that everybody shares.",
  per: "shared",
  state: z.object({ notes: z.array(z.object({ by: z.string(), text: z.string() })).default([]) }),
  tools: {
    pin: {
      description: "Pin a note.",
      input: z.object({ text: z.string() }),
      run({ state, args, viewer }) {
        state.notes.push({ by: viewer.principal ?? "somebody", text: args.text });
      },
    },
  },
});

export const incident = actor("incident", {
  description: "An incident.",
  state: z.object({ acknowledgedBy: z.string().optional() }),
  allow: {
    responder: { holds: ({ viewer }) => hasClaim(viewer, "roles", "responder"), reason: "Only responders may do this." },
    manager: ({ viewer }) => hasClaim(viewer, "roles", "manager"),
  },
  tools: {
    acknowledge: {
      description: "Acknowledge the incident.",
      allow: ["responder", "manager"],
      run: ({ state, viewer }) => void (state.acknowledgedBy = viewer.principal),
    },
  },
});
