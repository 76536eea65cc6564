import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { EngineError, type Context, type Json, type Message, type Outgoing, type Turn, type Work } from "../contract/index.ts";
import { actor, refuse, type WorkContext } from "./index.ts";

interface State {
  n: number;
  list: number[];
}

function kindThat(work: (context: WorkContext<State, { url: string }>) => Promise<unknown>) {
  return actor("worker", {
    description: "",
    initial: (): State => ({ n: 0, list: [] }),
    tools: {
      fetch: {
        description: "",
        input: z.object({ url: z.string().default("x:y") }),
        enabled: ({ state }) => state.n < 10 || "Tired.",
        work: async (context) => {
          const value = await work(context);
          return typeof value === "string" ? value : undefined;
        },
      },
    },
    messages: { refresh: { input: z.object({ n: z.number() }), work: async ({ state, args }) => void (state.n = args.n) } },
  });
}

function message(more: Partial<Message> = {}): Message {
  return { id: "m1", to: "worker/x", action: "tools/fetch", args: {}, at: 5, seed: "0".repeat(32), ...more };
}

interface Heard {
  readonly progress: unknown[];
  readonly log: unknown[];
  readonly calls: Outgoing[];
  readonly context: Context;
}

function listening(): Heard {
  const progress: unknown[] = [];
  const log: unknown[] = [];
  const calls: Outgoing[] = [];
  const context: Context = {
    signal: new AbortController().signal,
    call: async (sent) => {
      calls.push(sent);
      return { ok: "pong" };
    },
    progress: (...given) => void progress.push(given),
    log: (...given) => void log.push(given),
  };
  return { progress, log, calls, context };
}

function workOf<S>(given: Turn<S> | Work<S>): Work<S> {
  assert.ok(typeof given === "function", JSON.stringify(given));
  return given;
}

async function run(work: (context: WorkContext<State, { url: string }>) => Promise<unknown>, heard = listening()): Promise<Turn<State>> {
  const kind = kindThat(work);
  return workOf(kind.receive(kind.initial("x", message()), message()))(heard.context);
}

test("work writes to its draft across awaits, and ends in a turn #actors.work.progress", async () => {
  const heard = listening();
  const turn = await run(async ({ state, args, call, progress, log, signal, send, record }) => {
    state.n = 1;
    progress(1, 2, "half", { half: "done" });
    log("info", { url: args.url }, "net");
    Reflect.apply(log, undefined, ["debug", { n: 1n }]);
    const reply = await call("other/x", "ping", { n: state.n }, { deadline: 9 });
    await call({ to: "other/y", action: "pong", args: null });
    state.list.push("ok" in reply ? 7 : 0);
    send("other/z", "done");
    record({ aborted: signal.aborted });
    return "done";
  }, heard);
  const { dirty: _dirty, ...rest } = turn;
  assert.deepEqual(rest, {
    state: { n: 1, list: [7] },
    reply: { ok: "done" },
    send: [{ to: "other/z", action: "done", args: null }],
    record: [{ aborted: false }],
  });
  assert.ok(Object.isFrozen(turn.state) && Object.isFrozen(turn.state?.list));
  assert.deepEqual(heard.progress, [[1, 2, "half", { half: "done" }]]);
  assert.deepEqual(heard.log, [
    ["info", { url: "x:y" }, "net"],
    ["debug", { n: "1" }],
  ]);
  assert.deepEqual(heard.calls, [
    { to: "other/x", action: "ping", args: { n: 1 }, deadline: 9 },
    { to: "other/y", action: "pong", args: null },
  ]);
});

test("a call in work to a missing actor returns a refusal; other faults are thrown", async () => {
  const failing = (fault: EngineError): ReturnType<typeof listening> => {
    const heard = listening();
    return { ...heard, context: { ...heard.context, call: () => Promise.reject(fault) } };
  };
  for (const code of ["NO_ACTOR", "ACTOR_STOPPED"] as const) {
    const heard = failing(new EngineError(code, "There is no such actor."));
    const { reply } = await run(async ({ call }) => JSON.stringify(await call("other/x", "ping")), heard);
    assert.deepEqual(reply, { ok: `{"refused":{"code":"${code}","message":"There is no such actor."}}` });
  }
  for (const fault of [
    new EngineError("DEADLINE", "Timed out."),
    new EngineError("ACTOR_STOPPED", "Applied, then stopped.", { applied: "unknown" }),
  ])
    await assert.rejects(
      run(({ call }) => call("other/x", "ping"), failing(fault)),
      fault,
    );
});

test("C3 work that refuses or throws leaves no state, but its record #engine.c3", async () => {
  const refused = await run(async ({ state, record, send }) => {
    state.n = 5;
    record("was there");
    send("other/z", "done");
    return refuse("No.");
  });
  assert.deepEqual(refused, { reply: { refused: { code: "REFUSED", message: "No." } }, record: ["was there"] });
  const kind = kindThat(async ({ state }) => {
    state.n = 5;
    throw new RangeError("crash");
  });
  const before = kind.initial("x", message());
  await assert.rejects(async () => workOf(kind.receive(before, message()))(listening().context), RangeError);
  assert.deepEqual(before, { n: 0, list: [] });
});

test("C3 work that asks ends with `needs`", async () => {
  const kind = kindThat(async ({ ask }) => ask({ a: { method: "elicitation/create", params: {} } }));
  const given = message({ can: ["elicitation"] });
  const turn = await workOf(kind.receive(kind.initial("x", given), given))(listening().context);
  assert.deepEqual(turn, { reply: { needs: { a: { method: "elicitation/create", params: {} } } } });
});

test("law 3: an unavailable action or invalid arguments are refused before work starts #actors.when", () => {
  const kind = kindThat(async () => "never");
  const state = { n: 10, list: [] };
  assert.deepEqual(kind.receive(state, message()), { reply: { refused: { code: "NOT_NOW", message: "Tired." } } });
  const invalid = kind.receive({ n: 0, list: [] }, message({ args: { url: 5 } }));
  assert.ok(
    typeof invalid === "object" &&
      typeof invalid.reply === "object" &&
      "refused" in invalid.reply &&
      invalid.reply.refused.code === "INVALID",
  );
});

test("after work, neither its context nor its draft can write #actors.work.fence", async () => {
  const contexts: WorkContext<State, { url: string }>[] = [];
  const drafts: State[] = [];
  const turn = await run(async (context) => {
    contexts.push(context);
    drafts.push(context.state);
    context.state.list.push(1);
  });
  for (const context of contexts) {
    assert.throws(() => context.progress(1), { code: "TURN_OVER" });
    assert.throws(() => context.log("info", null), { code: "TURN_OVER" });
    assert.throws(() => context.send("other/x", "ping"), { code: "TURN_OVER" });
    await assert.rejects(async () => context.call("other/x", "ping"), { code: "TURN_OVER" });
  }
  for (const draft of drafts) assert.throws(() => draft.list.push(2), TypeError);
  assert.deepEqual(turn.state, { n: 0, list: [1] });
});

test("a message may be work too", async () => {
  const kind = kindThat(async () => "x");
  const given = message({ action: "refresh", args: { n: 4 } satisfies Json });
  const turn = await workOf(kind.receive(kind.initial("x", given), given))(listening().context);
  assert.deepEqual([turn.state, turn.reply], [{ n: 4, list: [] }, undefined]);
});
