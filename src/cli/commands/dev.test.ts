import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Behaviour } from "../../core/contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { faultFields, serverLog } from "../log.ts";
import { reportOnce } from "./dev.ts";

const impure = (kind: string): Behaviour<{ at: number; more: string }> =>
  actor(kind, {
    description: "A kind.",
    initial: () => ({ at: 0, more: "" }),
    tools: {
      first: { description: "First.", run: ({ state }) => void (state.at = Date.now()) },
      second: { description: "Second.", run: ({ state }) => void (state.more = String(Date.now()).repeat(20)) },
    },
  });

const faultOf = (behaviour: Behaviour<{ at: number; more: string }>, action: string): unknown => {
  try {
    return testActor(behaviour).turn(action);
  } catch (error) {
    return error;
  }
};

test("troupe dev logs an impure turn once per reload, in one short line", () => {
  const written: string[] = [];
  const stderr = { writableLength: 0, write: (text: string) => written.push(text) > 0 };
  const log = reportOnce(serverLog("info", false, () => 0, undefined, stderr));
  const fail = (kind: string, action: string): void =>
    log("error", "fault", { ...faultFields(faultOf(impure(kind), action), true), where: "turn", actor: `${kind}/main`, action });
  for (let run = 0; run < 3; run += 1) fail("bell", "tools/first");
  assert.equal(written.length, 1);
  assert.match(written.join(""), /impure actor=bell\/main why=bell: the turn of tools\/first is not pure: .*\/state\/at/);
  fail("bell", "tools/second");
  fail("door", "tools/first");
  assert.equal(written.length, 3, "another turn, and another kind, are reports of their own");
  log("info", "reloaded");
  fail("bell", "tools/first");
  assert.equal(written.length, 5);
  for (const line of written) assert.ok(line.length < 250 && line.indexOf("\n") === line.length - 1, line);
});

test("troupe dev logs an author's error once per reload, by its kind, action, place and text", () => {
  const written: unknown[] = [];
  const log = reportOnce((...given) => written.push(given));
  const fault = { where: "turn", actor: "bell/main", action: "tools/ring", error: "TypeError", why: "No clapper.", place: "/bell.ts:3:7" };
  for (const bell of ["bell/main", "bell/other", "bell/main"]) log("error", "fault", { ...fault, actor: bell });
  assert.deepEqual(written, [["error", "fault", fault]]);
  log("error", "fault", { ...fault, action: "tools/mute" });
  log("error", "fault", { ...fault, why: "No rope." });
  log("error", "fault", { ...fault, actor: "door/main" });
  log("error", "surface-fault", fault);
  assert.equal(written.length, 5);
  log("info", "reloaded");
  log("error", "fault", fault);
  assert.equal(written.length, 7);
  for (let n = 0; n < 1_500; n += 1) log("error", "fault", { ...fault, why: `Run ${n}.` });
  assert.equal(written.length, 1_507);
});

test("troupe dev logs events that are not faults each time", () => {
  const written: unknown[] = [];
  const log = reportOnce((...given) => written.push(given));
  for (let run = 0; run < 2; run += 1) log("warn", "turn-slow", { actor: "bell/main", ms: 200 });
  assert.equal(written.length, 2);
});
