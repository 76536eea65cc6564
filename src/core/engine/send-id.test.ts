import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import { reexecute } from "../chain/index.ts";
import type { ActorId, Json } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { testActor, twice, until } from "../../testing/index.ts";
import { chainOf, tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const B: ActorId = "tally/b";
const state = z.object({ questions: z.record(z.string(), z.string()).default({}), heard: z.array(z.string()).default([]) });

const asker = actor("asker", {
  description: "Asks, and knows which answer is to what.",
  state,
  tools: {
    ask: {
      description: "Asks twice.",
      run({ state: draft, create, send, key }) {
        create(B);
        draft.questions[send(B, "add", { by: 1 }, { replyAs: "answered" })] = `${key}: first`;
        draft.questions[send(B, "refuse", null, { replyAs: "answered" })] = `${key}: second`;
        return "sent";
      },
    },
    work: {
      description: "Asks out of work.",
      async work({ state: draft, send, call }) {
        await call(B, "get");
        draft.questions[send(B, "get", null, { replyAs: "answered" })] = "out of work";
        return "sent";
      },
    },
  },
  messages: {
    answered: {
      replies: true,
      run({ state: draft, args }) {
        draft.heard.push(`${draft.questions[args.of] ?? "?"} ${JSON.stringify(args.reply)}`);
      },
    },
  },
});

for (const persistence of ["disk", "memory"] as const)
  test(`C5 \`send\` returns the id that its reply names, in first turns, in later ones and in work (${persistence}) #engine.c5`, async () => {
    const store = memoryStore();
    const kinds = [twice(asker), tallyKind("tally", { persistence })];
    const begin = persistence === "memory" ? { start: null, policy: { persistence } } : { start: null };
    await using engine = await LocalEngine.start({ kinds, store });
    const heard = async (): Promise<Json> => {
      const read: { heard: Json } = JSON.parse(JSON.stringify((await engine.read("asker/a"))?.state ?? { heard: [] }));
      return read.heard;
    };
    const call = (action: string) => engine.call({ to: "asker/a", action: `tools/${action}`, args: {}, ...begin });
    const expected: string[] = [];
    for (const [action, ...answers] of [
      ["ask", 'a: first {"ok":1}', 'a: second {"refused":{"code":"NO","message":"No."}}'],
      ["ask", 'a: first {"ok":2}', 'a: second {"refused":{"code":"NO","message":"No."}}'],
      ["work", 'out of work {"ok":2}'],
    ] as const) {
      await call(action);
      expected.push(...answers);
      await until(
        "the answers are there",
        async () =>
          JSON.stringify(await heard()).split("ok").length + JSON.stringify(await heard()).split("NO").length >= expected.length + 2,
      );
    }
    assert.deepEqual(await heard(), expected);
    if (persistence === "disk") assert.deepEqual(reexecute(asker, await chainOf(engine, "asker/a")).mismatches, []);
  });

test("testActor returns the ids of sent messages, as an engine does", () => {
  const stage = testActor(asker, { key: "k" });
  stage.turn("tools/ask");
  const [first = "", second = ""] = Object.keys(stage.state.questions);
  assert.notEqual(first, second);
  stage.turn("answered", { of: second, to: B, reply: { ok: 7 } });
  assert.deepEqual(stage.state.heard, ['k: second {"ok":7}']);
});
