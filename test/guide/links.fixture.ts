// The code of docs/guide/links.md.
import { actor } from "troupe";
import * as z from "zod";

export const desk = actor("desk", {
  description: "Decides expenses.",
  per: "link",
  autoStart: true,
  state: z.object({ waiting: z.array(z.string()).default([]) }),
  tools: { queue: { description: "What waits.", view: ({ state }) => ({ waiting: state.waiting }) } },
  messages: {
    file: {
      input: z.object({ title: z.string() }),
      run({ state, args }) {
        state.waiting.push(args.title);
      },
    },
  },
});

export const expense = actor("expense", {
  description: "One expense.",
  per: "user",
  state: z.object({ status: z.enum(["draft", "pending"]).default("draft") }),
  links: {
    desk: {
      kind: desk,
      enabled: ({ state }) => state.status === "pending" || "Submit it first.",
      to: () => desk.id("main"),
    },
  },
  tools: {
    submit: {
      description: "Submit it.",
      input: z.object({ title: z.string() }),
      run({ state, args, send }) {
        state.status = "pending";
        send(desk.at("main").file(args));
      },
    },
  },
  resources: { state: { uri: "expense://state", view: ({ state }) => state } },
});
