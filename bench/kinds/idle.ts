// A turn that does nothing: what a call takes before its author's code begins.
import { actor } from "troupe/actor";
import * as z from "zod";

export const idle = actor("idle", {
  description: "Does nothing.",
  persistence: "memory",
  mailbox: 1_000,
  state: z.object({ count: z.int().default(0) }),
  tools: {
    add: {
      description: "Checks what it is given, and does nothing.",
      input: z.object({ by: z.int().default(1).describe("How much to add") }),
      run() {},
    },
  },
});
