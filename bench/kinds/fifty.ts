// A kind with fifty tools, so that lists take a noticeable time.
import { actor } from "troupe";
import * as z from "zod";

const input = z.object({ text: z.string().describe("Any text"), times: z.number().int().min(1).max(10).default(1) });

export const fifty = actor("fifty", {
  description: "Fifty tools.",
  per: "shared",
  persistence: "memory",
  state: z.object({ calls: z.number().default(0) }),
  tools: Object.fromEntries(
    Array.from({ length: 50 }, (_, n) => [
      `tool_${n}`,
      {
        description: `Tool number ${n} of the list.`,
        input,
        run({ state, args }: { state: { calls: number }; args: { text: string; times: number } }) {
          state.calls += args.times;
          return args.text;
        },
      },
    ]),
  ),
});
