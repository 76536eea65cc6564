import { actor, refuse, type Viewer } from "troupe";
import * as z from "zod";

const REMIND_MS = 2 * 24 * 60 * 60_000;
const MAX_NOTICES = 200;

/** Roles come from the scopes of a caller's key: `npm run key -- ann lead`. */
const isLead = ({ viewer }: { readonly viewer: Viewer }): boolean => viewer.scopes.includes("lead");
export const allow = { lead: { holds: isLead, reason: "Only the team's lead may do this." } };

/** Each user's notifications. */
export const inbox = actor("inbox", {
  description: "Your notifications.",
  per: "user",
  state: z.object({ notices: z.array(z.string()).default([]) }),
  resources: { notices: { uri: "inbox://mine", mimeType: "application/json", view: ({ state }) => state.notices } },
  messages: {
    notify: {
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notices.push(args.text);
        if (state.notices.length > MAX_NOTICES) state.notices.shift();
      },
    },
  },
});

const Task = z.object({
  title: z.string(),
  author: z.string(),
  status: z.enum(["open", "taken", "done"]).default("open"),
  taker: z.string().optional(),
});

/** One task. The board creates it, and clients reach it through the board by its key, such as T-1. */
export const task = actor("task", {
  description: "A task.",
  per: "link",
  allow,
  state: Task,
  initial: ({ args }) => Task.parse(args),
  tools: {
    take: {
      description: "Take the task on.",
      enabled: ({ state }) => state.status === "open" || `The task is ${state.status}.`,
      run({ state, viewer, wake, messages }) {
        state.status = "taken";
        state.taker = viewer.principal;
        wake("remind", { afterMs: REMIND_MS, everyMs: REMIND_MS, message: messages.remind() });
      },
    },
    finish: {
      description: "Report that the task is done.",
      enabled: ({ state, viewer }) =>
        (state.status === "taken" && state.taker === viewer.principal) || "Only the person who took the task may finish it.",
      run({ state, key, cancel, send, settled }) {
        state.status = "done";
        cancel("remind");
        send(inbox.at(state.author).notify({ text: `${key} is done: ${state.title}` }));
        return settled("Done.");
      },
    },
  },
  messages: {
    remind: {
      run({ state, key, send, settled }) {
        if (state.status !== "taken" || state.taker === undefined) refuse(`The task is ${state.status}: there is no one to remind.`);
        send(inbox.at(state.taker).notify({ text: `Still waiting for you: ${key}, ${state.title}` }));
        return settled("Reminded.");
      },
    },
  },
});
