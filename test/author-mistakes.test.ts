// The production log entry of an author's mistake: its code, its message and the author's source line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, refuse } from "troupe";
import { EngineError } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { faultFields } from "../src/cli/log.ts";

/** Hides types, as code without type checking does. */
const unseen = (value: unknown) => Object(value);

const clumsy = actor("clumsy", {
  description: "Clumsy.",
  persistence: "memory",
  initial: () => ({ n: 0, list: [0] }),
  tools: {
    wake: { description: "Wakes never.", run: ({ wake }) => unseen(wake)("w") },
    send: { description: "Sends to an invalid id.", run: ({ send }) => unseen(send)("invalid", "beat") },
    date: { description: "Sends no JSON.", run: ({ send }) => send("clumsy/other", "beat", { at: unseen(new Date(0)) }) },
    data: { description: "Refuses with no JSON.", run: () => refuse("no", { data: 1n }) },
  },
  messages: { beat: { run: () => undefined } },
});

test("a production log has an author's mistake with its code, its message and the author's source line", async () => {
  const logged: unknown[] = [];
  await using engine = await LocalEngine.start({ kinds: [clumsy], onFault: (error) => logged.push(faultFields(error, false)) });
  for (const tool of ["wake", "send", "date", "data"]) {
    const called = engine.call({ to: "clumsy/main", action: `tools/${tool}`, args: {}, start: null });
    await assert.rejects(called, (error) => error instanceof EngineError && error.code === "CRASHED");
  }
  assert.deepEqual(
    logged.map((fields) => {
      assert.ok(typeof fields === "object" && fields !== null && "code" in fields && "why" in fields && "place" in fields);
      assert.match(String(fields.place), /author-mistakes\.test\.ts:\d+:\d+$/);
      return [fields.code, String(fields.why).slice(0, 30)];
    }),
    [
      ["BAD_TURN", 'wake("w"): give the message th'],
      ["BAD_ID", '"invalid" is no actor id: make'],
      ["BAD_TURN", "the arguments of a message is "],
      ["BAD_TURN", "the data of a refusal is not J"],
    ],
  );
});
