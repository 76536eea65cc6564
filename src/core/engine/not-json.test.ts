import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { DEFAULT_POLICY, type Behaviour, type Outgoing } from "../contract/index.ts";
import { sqliteStore } from "../store/index.ts";
import { until } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

/** A message that does not compile. */
const untyped = (message: object): Outgoing => Object.assign({ to: "sink/one" as const, action: "take", args: null, start: null }, message);

const sink: Behaviour<number> = {
  kind: "sink",
  version: 1,
  policy: DEFAULT_POLICY,
  initial: () => 0,
  receive: (taken, { action, args }) =>
    action === "pass" ? { send: [untyped({ trace: { traceparent: args === null ? 1n : "00-1-2-01" } })] } : { state: taken + 1 },
};

test("values that are not JSON in a message are named in the error, from `call`, `send` and a turn", async () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-no-json-"));
  try {
    const logged: string[] = [];
    await using store = sqliteStore({ directory });
    await using engine = await LocalEngine.start({ kinds: [sink], store, onFault: (error) => logged.push(String(error)) });
    for (const [member, path] of [
      [{ trace: { traceparent: 1n } }, "trace.traceparent"],
      [{ viewer: { scopes: [1n] } }, "viewer.scopes.0"],
      [{ policy: { idleMs: 1n } }, "policy.idleMs"],
      [{ start: [[1n]] }, "start.0.0"],
    ] as const) {
      const reply = await engine.call(untyped(member));
      assert.equal("refused" in reply && reply.refused.message, `Invalid message: ${path}: is a BigInt: pass its text.`);
      await assert.rejects(engine.send(untyped(member)), {
        code: "BAD_TURN",
        message: `A message to sink/one is no JSON: ${path} is a BigInt: pass its text.`,
      });
    }
    assert.deepEqual(logged, []);
    await assert.rejects(engine.call(untyped({ action: "pass" })), { code: "CRASHED" });
    assert.match(logged.join(), /A message to sink\/one is no JSON: trace\.traceparent is a BigInt/);
    assert.equal(await engine.read("sink/one"), undefined);
    await engine.call(untyped({ action: "pass", args: "whole" }));
    await until("the whole one has come", async () => (await engine.read("sink/one"))?.state === 1);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a state that is not JSON is logged, since its author has to correct the code", async () => {
  const logged: string[] = [];
  const broken: Behaviour = {
    kind: "broken",
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: "memory" },
    initial: () => ({}),
    receive: () => ({ state: { at: 1n } }),
  };
  await using engine = await LocalEngine.start({
    kinds: [broken],
    onFault: (error, { where, actor, action }) => logged.push(`${where} ${actor} ${action}: ${String(error)}`),
  });
  await assert.rejects(engine.call({ to: "broken/x", action: "go", args: null, start: null }), { code: "STATE_NOT_JSON" });
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? "", /^turn broken\/x go: .*state\.at is a BigInt/);
});
