import { setTimeout as wait } from "node:timers/promises";
import { actor } from "troupe";

const STEP_MS = 50;

/** What takes a while, and says how far it is. */
export const waiting = actor("waiting", {
  description: "Takes its time.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    test_tool_with_progress: {
      description: "Says how far it is.",
      async work({ progress, signal }) {
        progress(0, 100);
        await wait(STEP_MS, undefined, { signal });
        progress(50, 100);
        await wait(STEP_MS, undefined, { signal });
        progress(100, 100);
        return "Done.";
      },
    },
    test_tool_with_logging: {
      description: "Says what it does.",
      async work({ log, signal }) {
        log("info", "Tool execution started");
        await wait(STEP_MS, undefined, { signal });
        log("info", "Tool processing data");
        await wait(STEP_MS, undefined, { signal });
        log("info", "Tool execution completed");
        return "Done.";
      },
    },
    test_logging_tool: {
      description: "Says what it does to who wants to hear it.",
      async work({ log }) {
        log("info", "Working");
        return "Done.";
      },
    },
    test_reconnection: {
      description: "Replies by a stream that can be asked for again.",
      async work({ log, signal }) {
        log("info", "Working");
        await wait(STEP_MS, undefined, { signal });
        return "Done.";
      },
    },
  },
});
