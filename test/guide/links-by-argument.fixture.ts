// The code of docs/guide/links.md.
import { actor } from "troupe";
import * as z from "zod";

export const incident = actor("incident", {
  description: "One incident.",
  per: "link",
  state: z.object({ status: z.enum(["open", "acknowledged"]).default("open"), notes: z.array(z.string()).default([]) }),
  tools: {
    acknowledge: {
      description: "Acknowledge an incident.",
      enabled: ({ state }) => state.status === "open" || "It has been acknowledged already.",
      run: ({ state }) => void (state.status = "acknowledged"),
    },
    comment: {
      description: "Comment on an incident.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notes.push(args.text);
        return { notes: state.notes.length };
      },
    },
  },
  resources: { state: { uri: "incident://{alias}/state", view: ({ state }) => state } },
});

export const responder = actor("responder", {
  description: "A person who handles incidents.",
  per: "user",
  state: z.object({ onDuty: z.boolean().default(true), known: z.array(z.string()).default([]) }),
  links: {
    incident: {
      kind: incident,
      enabled: ({ state }) => state.onDuty || "You are off duty.",
      choices: ({ state }) => state.known,
    },
  },
  tools: {
    report: {
      description: "Report a new incident.",
      input: z.object({ id: z.string() }),
      run({ state, args, create }) {
        create(incident.at(args.id));
        state.known.push(args.id);
      },
    },
    sign_off: { description: "Go off duty.", run: ({ state }) => void (state.onDuty = false) },
  },
});
