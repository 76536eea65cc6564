// The code of docs/recipes/approval.md.
import { actor, isSignedIn } from "troupe";
import * as z from "zod";

const DAY_MS = 86_400_000;

export const release = actor("release", {
  description: "Releases that two people agree on.",
  state: z.object({
    pending: z.object({ version: z.string(), by: z.string() }).optional(),
    live: z.string().default("1.0.0"),
  }),
  tools: {
    propose: {
      description: "Propose a version to release.",
      input: z.object({ version: z.string() }),
      enabled: ({ state, viewer }) =>
        isSignedIn(viewer) ? state.pending === undefined || "Another version is waiting." : "Sign in first.",
      run({ state, args, viewer, wake, messages }) {
        state.pending = { version: args.version, by: viewer.principal ?? "" };
        wake("expire", { afterMs: DAY_MS, message: messages.expire() });
      },
    },
    approve: {
      description: "Release the proposed version.",
      enabled: ({ state, viewer }) => {
        if (state.pending === undefined) return "Nothing is proposed.";
        if (!isSignedIn(viewer)) return "Sign in first.";
        return state.pending.by !== viewer.principal || "Somebody else must approve your proposal.";
      },
      run({ state, cancel }) {
        state.live = state.pending?.version ?? state.live;
        delete state.pending;
        cancel("expire");
        return `Version ${state.live} is live.`;
      },
    },
  },
  messages: { expire: { run: ({ state }) => void delete state.pending } },
});
