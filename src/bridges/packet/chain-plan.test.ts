import * as fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ran, RunOptions } from "./capability.ts";
import { planChain, runChain } from "./chain-plan.ts";
import { capability } from "./define-capability.ts";
import { PacketError } from "./packet.ts";

const one = (id: string, requires: readonly string[], provides: readonly string[]) =>
  capability(id, { intent: `Makes ${provides.join(" and ")}`, requires, provides, execute: () => ({}) });

const OPTIONS: RunOptions = { viewer: { scopes: [] }, context: { trace_id: "t" } };

void test("a chain leads from given fields to wanted ones, without unnecessary steps #packet.implied.7-chains", () => {
  const all = [
    one("user", ["user_id"], ["user"]),
    one("score", ["user", "events"], ["score"]),
    one("events", ["user_id"], ["events"]),
    one("mail", ["user"], ["mail"]),
  ];
  assert.deepEqual(
    planChain(all, ["user_id"], ["score"])?.steps.map((step) => step.capability_id),
    ["user", "events", "score"],
  );
  assert.deepEqual(planChain(all, ["score"], ["score"])?.steps, []);
  assert.equal(planChain(all, ["events"], ["score"]), undefined);
});

void test("a capability that requires its own result leads nowhere", () => {
  assert.equal(planChain([one("a", ["y"], ["x"]), one("b", ["x"], ["y"])], [], ["x"]), undefined);
});

void test("every step of a found chain has its fields, and the wanted ones are known at the end", () => {
  const field = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const fields = fc.uniqueArray(field, { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fields, fields), { maxLength: 8 }), fields, fields, (contracts, from, to) => {
      const all = contracts.map(([requires, provides], n) => one(`c${n}`, requires, provides));
      const plan = planChain(all, from, to);
      const reach = new Set<string>(from);
      for (let grew = true; grew;) {
        const size = reach.size;
        for (const { requires, provides } of all)
          if (requires.every((name) => reach.has(name))) for (const name of provides) reach.add(name);
        grew = reach.size > size;
      }
      assert.equal(
        plan !== undefined,
        to.every((name) => reach.has(name)),
        "it is found where there is one",
      );
      const known = new Set<string>(from);
      for (const { takes, gives } of plan?.steps ?? []) {
        assert.ok(takes.every((name) => known.has(name)));
        for (const name of gives) known.add(name);
      }
      if (plan !== undefined) assert.ok(to.every((name) => known.has(name)));
    }),
  );
});

void test("a chain runs within one trace, each step with its fields; a dry run runs nothing #packet.implied.7-chains", async () => {
  const plan = planChain([one("user", ["user_id"], ["user"]), one("score", ["user"], ["score"])], ["user_id"], ["score"]);
  assert.ok(plan);
  const runs: unknown[] = [];
  const run = async (id: string, payload: object, { context }: RunOptions): Promise<Ran> => {
    runs.push([id, payload, context.trace_id]);
    return { result: id === "user" ? { user: "Ada" } : { score: 7 }, execution_time_ms: 1, trace_id: "t" };
  };
  const dry = await runChain(plan, { user_id: "1", secret: "s" }, { ...OPTIONS, dryRun: true }, run);
  assert.deepEqual([dry.steps, runs], [plan.steps, []]);
  const ran = await runChain(plan, { user_id: "1", secret: "s" }, OPTIONS, run);
  assert.deepEqual(runs, [
    ["user", { user_id: "1" }, "t"],
    ["score", { user: "Ada" }, "t"],
  ]);
  assert.deepEqual(ran.result, { user_id: "1", secret: "s", user: "Ada", score: 7 });
});

void test("a failed step is named in the error, with the number of steps that ran", async () => {
  const plan = planChain([one("user", [], ["user"]), one("score", ["user"], ["score"])], [], ["score"]);
  assert.ok(plan);
  const run = async (id: string): Promise<Ran> => {
    if (id === "score") throw new PacketError("execution_failed", "No data.");
    return { result: { user: "Ada" }, execution_time_ms: 1, trace_id: "t" };
  };
  await assert.rejects(runChain(plan, {}, OPTIONS, run), {
    type: "execution_failed",
    details: { step: "score", done: 1 },
    message: /Step 2 \(score\)/,
  });
});
