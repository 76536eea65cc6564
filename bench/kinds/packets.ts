// Minimal capabilities of each type, so that benches measure the cost of calling them.
import { actorCapability, capability, type Capability } from "troupe/packet";

export const tally = actorCapability("tally", {
  intent: "Adds a number.",
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
  intent: "Returns its argument.",
  requires: ["text"],
  execute: ({ text }) => ({ text }),
});

/** Keeps the processor busy for a millisecond. A timer would not be exact enough. */
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
