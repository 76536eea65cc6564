// The code of docs/guide/long-work.md, except that of elsewhere.fixture.ts.
import { setTimeout } from "node:timers/promises";
import { actor } from "troupe";
import * as z from "zod";

/** Stands for what takes long. */
async function render(_page: number, signal: AbortSignal): Promise<void> {
  await setTimeout(5, undefined, { signal });
}

export const writer = actor("writer", {
  description: "Writes reports.",
  per: "user",
  workMs: 300_000,
  state: z.object({ pages: z.int().default(0) }),
  tools: {
    make: {
      description: "Make a report.",
      input: z.object({ pages: z.int().min(1).max(50) }),
      task: "optional",
      async work({ state, args, signal, progress }) {
        for (let page = 1; page <= args.pages; page += 1) {
          await render(page, signal);
          progress(page, args.pages, `Page ${page}`);
        }
        state.pages += args.pages;
        return `${args.pages} pages are ready.`;
      },
    },
  },
});

export const parcel = actor("parcel", {
  description: "A parcel on its way.",
  per: "user",
  state: z.object({ caller: z.string().default(""), stops: z.int().default(0) }),
  tools: {
    track: {
      description: "Reports each stop, and replies when the parcel has arrived.",
      task: "optional",
      run({ state, message, wake, messages, later }) {
        state.caller = message.id;
        wake("stop", { afterMs: 60_000, everyMs: 60_000, message: messages.stop() });
        return later();
      },
    },
  },
  messages: {
    stop: {
      run({ state, report, answer, cancel }) {
        state.stops += 1;
        report(state.caller, state.stops, 3, `Stop ${state.stops}`);
        if (state.stops < 3) return;
        cancel("stop");
        answer(state.caller, "It has arrived.");
      },
    },
  },
});
