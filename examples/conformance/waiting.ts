import { setTimeout as wait } from "node:timers/promises";
import { actor } from "troupe";

const STEP_MS = 50;

/** Tools that take a while and report progress or logs. */
export const waiting = actor("waiting", {
  description: "Takes a while.",
  persistence: "memory",
  initial: () => ({}),
  tools: {
    test_tool_with_progress: {
      description: "Reports progress.",
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
      description: "Logs three messages.",
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
      description: "Logs a message.",
      async work({ log }) {
        log("info", "Working");
        return "Done.";
      },
    },
    test_reconnection: {
      description: "Replies on a stream that the client can resume.",
      async work({ log, signal }) {
        log("info", "Working");
        await wait(STEP_MS, undefined, { signal });
        return "Done.";
      },
    },
  },
});
