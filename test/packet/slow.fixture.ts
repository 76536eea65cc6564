import { actorCapability } from "../../src/bridges/packet/index.ts";

/** Works for as long as it is told, and remembers that it has. */
export const slow = actorCapability("slow", {
  intent: "Take a while",
  persistence: "disk",
  requires: ["ms"],
  initialState: { done: 0 },
  messages: {
    look: { match: { ms: 0 }, view: ({ state }) => ({ done: state.done }) },
    take: {
      async work({ state, payload, progress, signal }) {
        progress(0, 1);
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(resolve, Number(payload["ms"]));
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
          });
        });
        state.done += 1;
        return { done: state.done };
      },
    },
  },
});
