// Capabilities of each kind that do as little as can be: what is left is what it takes to reach them.
import { actorCapability, capability, type Capability } from "troupe/packet";

export const tally = actorCapability("tally", {
  intent: "Counts what it is told.",
  requires: ["by"],
  initialState: { count: 0 },
  messages: {
    add: {
      run({ state, payload }) {
        state.count += Number(payload["by"]);
        return { count: state.count };
      },
    },
  },
});

export const echo = capability("echo", {
  intent: "Says what it is told.",
  requires: ["text"],
  execute: ({ text }) => ({ text }),
});

/** Holds the processor for a millisecond: a timer would be late by more than is to be measured. */
export const busy = capability("busy", {
  intent: "Works for a millisecond.",
  requires: ["text"],
  execute({ text }) {
    for (const until = performance.now() + 1; performance.now() < until;);
    return { text };
  },
});

/** One of many in a list. */
export const listed = (n: number): Capability =>
  capability(`listed_${n}`, {
    intent: `Number ${n} of those that are listed.`,
    requires: ["user_id", "operations"],
    provides: ["status"],
    execute: () => ({ status: "done" }),
  });
