// Random graphs of actors that forward to and request from each other, over restarts at random moments: each keyed call gets one reply, the
// one that its plan says, and no call stays pending.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { actor, refuse } from "troupe";
import * as z from "zod";
import type { ActorId, Reply } from "../../src/core/contract/index.ts";
import { BOTH } from "./places.ts";

/** What an actor does with a call, and then those behind it. */
type Plan = readonly ("forward" | "request")[];

const input = z.object({ plan: z.array(z.enum(["forward", "request"])), end: z.enum(["ok", "refuse", "throw"]), at: z.int() });

// Not typed by each other: a kind cannot name its own messages while it is inferred.
const to = (args: z.infer<typeof input>) => ({
  to: `node/${args.at}` as const,
  action: "go",
  args: { ...args, plan: args.plan.slice(1), at: args.at + 1 },
});

const node = actor("node", {
  description: "Passes calls on.",
  per: "link",
  autoStart: true,
  state: z.object({ replies: z.number().default(0) }),
  messages: {
    go: {
      input,
      run({ args, forward, request }) {
        const [how] = args.plan;
        if (how === "forward") return forward(to(args));
        if (how === "request") return request(to(args), "back");
        if (args.end === "refuse") return refuse("No.", { code: "NO" });
        if (args.end === "throw") throw new Error("It broke.");
        return 0;
      },
    },
  },
  replies: {
    back: {
      of: { kind: "node", action: "go" },
      run({ state, reply }) {
        state.replies += 1;
        return Number(reply) + 1;
      },
    },
  },
});

/** The reply of the model: the value counts the requests on the way, and a failure passes through. */
function expected(plan: Plan, how: "ok" | "refuse" | "throw"): string {
  if (how === "refuse") return "NO";
  if (how === "throw") return "CRASHED";
  return String(plan.filter((step) => step === "request").length);
}

const short = (reply: Reply): string => ("ok" in reply ? JSON.stringify(reply.ok) : "refused" in reply ? reply.refused.code : "needs");

const calls = fc.array(
  fc.record({
    plan: fc.array(fc.constantFrom("forward" as const, "request" as const), { minLength: 1, maxLength: 5 }),
    end: fc.constantFrom("ok" as const, "ok" as const, "refuse" as const, "throw" as const),
    at: fc.nat({ max: 2 }),
    restart: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

for (const { name, open } of BOTH)
  test(`${name}: every call through a random graph gets the model's reply, over restarts #actors.forward #actors.request`, async () => {
    await fc.assert(
      fc.asyncProperty(calls, async (given) => {
        let place = await open([node]);
        for (const [index, { plan, end: how, at, restart }] of given.entries()) {
          const call = { to: `node/${at}` as const, action: "go", args: { plan, end: how, at: at + 1 } };
          const key = `k${index}`;
          const first = place.call(call, { key }).then(short, () => "gone");
          if (restart) {
            place = await place.reopen();
            // It has a reply, or was refused because the engine closed.
            await first;
          }
          const again = restart ? short(await place.call(call, { key })) : await first;
          assert.equal(again, expected(plan, how));
          await place.settle();
          const ids: readonly ActorId[] = Array.from({ length: 9 }, (_, n) => `node/${n}` as const);
          for (const id of ids) assert.equal(await place.pending(id), 0, id);
        }
        await place[Symbol.asyncDispose]();
      }),
      { numRuns: 40 },
    );
  });
