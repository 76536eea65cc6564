// An actor whose turn does nothing, to measure a call without the author's code.
import { actor } from "troupe/actor";
import * as z from "zod";

export const idle = actor("idle", {
  description: "Does nothing.",
  persistence: "memory",
  mailbox: 1_000,
  state: z.object({ count: z.int().default(0) }),
  tools: {
    add: {
      description: "Validates its arguments and does nothing.",
      input: z.object({ by: z.int().default(1).describe("How much to add") }),
      run() {},
    },
  },
});
