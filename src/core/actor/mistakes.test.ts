import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { DEFAULT_POLICY, TroupeError } from "../contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { actor, elicit, keyOf, refuse } from "./index.ts";

/** As an author without a type checker would write it. */
const unseen = (value: unknown) => Object(value);

const INITIAL = { n: 0, list: [0], deep: { a: 1 } };
type Context = { state: typeof INITIAL; message: { args: unknown } } & Record<string, (...args: readonly unknown[]) => unknown>;

const clumsy = (run: (ctx: Context) => unknown, tool: object = {}) =>
  actor("clumsy", {
    description: "Clumsy.",
    initial: () => structuredClone(INITIAL),
    tools: { act: { description: "Act.", ...tool, run: unseen(run) }, wait: { description: "Wait.", work: unseen(run) } },
    messages: { beat: { run: () => undefined } },
  });
const stageOf = (run: (ctx: Context) => unknown, tool: object = {}) => testActor(clumsy(run, tool));

const mistakes: readonly (readonly [what: string, run: (ctx: Context) => unknown, reason: RegExp, tool?: object])[] = [
  ["a promise", () => Promise.resolve(1), /^tools\/act returned a promise: a turn is synchronous.+Use `work` for what waits\.$/],
  ["a reply that is no JSON", () => ({ at: new Date(0) }), /^What tools\/act replied is not JSON: \/at is a Date \(use .+\)\.$/],
  ["a reply that is no text either", () => 10n, /^What tools\/act replied is not JSON: it is a bigint \(use its text\)\.$/],
  ["a reply with a function in it", () => ({ f: () => 1 }), /\/f is a function \(leave it away\)\.$/],
  [
    "a reply its output does not take",
    () => ({ a: "x" }),
    /^What tools\/act replied is not its `output`: a: /,
    { output: z.object({ a: z.number() }) },
  ],
  [
    "a result as MCP writes it",
    () => ({ content: [{ type: "text", text: "Out of stock." }], isError: true }),
    /^What tools\/act replied is a result as MCP writes it, .+content\(.+refuse\(…\)\.$/,
  ],
  [
    "the data of a refusal",
    () => refuse("no", { data: { n: Number.NaN } }),
    /^the data of a refusal is not JSON: \/n is NaN \(use null\)\.$/,
  ],
  [
    "arguments that are no JSON",
    ({ send }) => send?.("clumsy/other", "beat", { at: new Map() }),
    /^the arguments of a message is not JSON/,
  ],
];

for (const [what, run, reason, tool] of mistakes) {
  test(`a mistake in a turn has a code and a sentence: ${what}`, () => {
    assert.throws(
      () => stageOf(run, tool).turn("tools/act"),
      (error) => error instanceof TroupeError && error.code === "BAD_TURN" && (assert.match(error.message, reason), true),
    );
  });
}

const furtherMistakes: readonly (readonly [what: string, run: (ctx: Context) => unknown, reason: RegExp])[] = [
  ["a wake without a word", ({ wake }) => wake?.("w"), /^wake\("w"\): give the message that the timer sends, as in /],
  [
    "a wake at no time",
    ({ wake, self }) => wake?.("w", { afterMs: Number.NaN, message: { to: self, action: "beat", args: null } }),
    /^wake\("w"\): `at` or `afterMs`/,
  ],
  [
    "a wake of an unknown message",
    ({ wake, self }) => wake?.("w", { afterMs: 1, message: { to: self, action: "nope", args: null } }),
    /names the message "nope", which this kind does not have: declare it in `messages`\.$/,
  ],
  [
    "a wake that never rests",
    ({ wake, self }) => wake?.("w", { afterMs: 1, everyMs: 0, message: { to: self, action: "beat", args: null } }),
    /^wake\("w"\): `everyMs` must be at least 100 milliseconds, .+ or give the kind a `minEveryMs`\.$/,
  ],
  [
    "a wake that hardly rests",
    ({ wake, self }) => wake?.("w", { afterMs: 1, everyMs: 99, message: { to: self, action: "beat", args: null } }),
    /at least 100 milliseconds/,
  ],
  [
    "a wake without a name",
    ({ wake, self }) => wake?.(undefined, { afterMs: 1, message: { to: self, action: "beat", args: null } }),
    /^undefined is no name for a wake: use 1 to 256 characters\.$/,
  ],
  [
    "a wake of arguments that are no JSON",
    ({ wake, self }) => wake?.("w", { afterMs: 1, message: { to: self, action: "beat", args: new Date(0) } }),
    /^the arguments of a wake is not JSON/,
  ],
  ["a message without a name", ({ send }) => send?.("clumsy/other"), /^send\(to, action, args\): `action` is the name of a message\.$/],
  [
    "a reply as an unknown message",
    ({ send }) => send?.("clumsy/other", "beat", {}, { replyAs: "nope" }),
    /^`replyAs` names the message "nope", which this kind does not have: declare it in `messages`, with `replies: true`\.$/,
  ],
  [
    "questions that are none",
    ({ ask }) => ask?.({ x: 1 }),
    /^ask\(\): "x" is no question: make it with elicit\(\), sample\(\) or roots\(\)\.$/,
  ],
  ["nothing to ask", ({ ask }) => ask?.(undefined), /^ask\(\): pass questions by name\.$/],
];

for (const [what, run, reason] of furtherMistakes) {
  test(`a mistake with the context has a code and a sentence: ${what}`, () => {
    assert.throws(
      () => stageOf(run).turn("tools/act"),
      (error) => error instanceof TroupeError && error.code === "BAD_TURN" && (assert.match(error.message, reason), true),
    );
  });
}

test("a mistake with the context has a code and a sentence: the key of a tool's own question", () => {
  const stage = stageOf(({ ask }) => ask?.({ confirm: elicit("Sure?") }), { confirm: () => undefined });
  assert.throws(() => stage.turn("tools/act"), {
    code: "BAD_TURN",
    message: /^ask\(\): "confirm" is the key of the tool's own `confirm`: choose another\.$/,
  });
});

test("a timer repeats no more often than the kind's policy allows", () => {
  const at = (minEveryMs: number | undefined, everyMs: number) =>
    testActor(
      actor("beating", {
        description: "Beats.",
        ...(minEveryMs !== undefined && { minEveryMs }),
        initial: () => ({ n: 0 }),
        messages: { beat: { run: ({ wake, messages }) => wake("beat", { afterMs: 1, everyMs, message: messages.beat() }) } },
      }),
    ).turn("beat");
  assert.equal(at(undefined, 100).wake?.["beat"]?.everyMs, 100);
  assert.equal(at(10, 10).wake?.["beat"]?.everyMs, 10);
  assert.throws(() => at(60_000, 59_999), { code: "BAD_TURN", message: /at least 60000 milliseconds/ });
  assert.throws(() => at(0, 1), { code: "BAD_DEFINITION", message: /minEveryMs must be a number above 0/ });
  assert.equal(DEFAULT_POLICY.minEveryMs, 100);
});

test("reading the state after the turn throws TURN_OVER", () => {
  let retained: { readonly state: unknown } | undefined;
  const stage = stageOf((ctx) => {
    ctx.state.list.push(1);
    retained = ctx;
  });
  stage.turn("tools/act");
  assert.throws(() => retained?.state, { code: "TURN_OVER" });
});

test("a message to an invalid id is BAD_ID, with advice on how ids are made", () => {
  for (const to of [undefined, null, 3, {}, "no-slash"])
    assert.throws(() => keyOf(unseen(to)?.valueOf()), { code: "BAD_ID", message: /make ids with `kind\.id\(key\)`/ });
});

test("errors for writing to revoked drafts and frozen values point to the author's code", () => {
  let retained: { list: unknown[] } | undefined;
  const keeping = (use: (retained: { list: unknown[] }, ctx: Context) => void): (() => void) => {
    retained = undefined;
    const kind = clumsy((ctx) => {
      if (retained !== undefined) use(retained, ctx);
      retained = ctx.state;
      ctx.state.list.push(2);
    });
    const message = { id: "m", to: kind.id("a"), action: "tools/act", args: {}, at: 0, seed: "00", viewer: { scopes: [] } };
    kind.receive(INITIAL, message);
    return () => void kind.receive(INITIAL, message);
  };
  assert.throws(
    keeping((state) => state.list.push(1)),
    (error) => {
      assert.ok(error instanceof TroupeError && error.code === "BAD_TURN");
      assert.match(error.message, /^tools\/act used a draft of a turn that is over: .+JSON\.parse\(JSON\.stringify\(value\)\)/);
      assert.match(String(error.stack).split("\n")[1] ?? "", /mistakes\.test\.ts/);
      return true;
    },
  );
  const sending = keeping((state, { send }) => send?.("clumsy/other", "beat", { state }));
  assert.throws(sending, { code: "BAD_TURN", message: /cannot be read: .+a draft of a turn that is over/ });

  const views = actor("writing", {
    description: "Writes where it may only read.",
    initial: () => ({ n: 0 }),
    tools: { look: { description: "Look.", view: unseen(({ state }: { state: { n: number } }) => (state.n = 1)) } },
  });
  assert.throws(() => testActor(views).turn("tools/look"), {
    code: "BAD_TURN",
    message: /^tools\/look wrote to something frozen: .+`ctx\.state` of `run`/,
  });
});

test("a mistake in work has a code and a sentence", async () => {
  await assert.rejects(stageOf(() => Promise.resolve(10n)).work("tools/wait"), {
    code: "BAD_TURN",
    message: /What tools\/wait replied is not JSON/,
  });
});

const wrong: readonly (readonly [what: string, definition: object, reason: RegExp])[] = [
  [
    "`enabled` as a value",
    { tools: { a: { description: "A.", enabled: true, run: () => 1 } } },
    /^odd: tools\/a: `enabled` must be a function, not a boolean\.$/,
  ],
  [
    "`choices` as a list",
    { tools: { a: { description: "A.", choices: { b: ["c"] }, run: () => 1 } } },
    /tools\/a: `choices\.b` must be a function, not a list/,
  ],
  ["`run` as a value", { tools: { a: { description: "A.", run: "x" } } }, /tools\/a: `run` must be a function, not text/],
  ["a tool as a function", { tools: { a: () => 1 } }, /odd: tools\/a must be an object, not a function/],
  ["no tool", { tools: { a: null } }, /odd: tools\/a must be an object, not null/],
  ["tools as a list", { tools: [] }, /odd: `tools` must be an object, not a list/],
  ["a message as a function", { messages: { a: () => 1 } }, /odd: messages\/a must be an object, not a function/],
  ["`input` as text", { tools: { a: { description: "A.", input: "x", run: () => 1 } } }, /tools\/a: `input` must be a schema, not text/],
  ["`secret` as text", { tools: { a: { description: "A.", secret: "x", run: () => 1 } } }, /tools\/a: `secret` must be a list, not text/],
  ["a link as a function", { links: { "": () => "room/a" } }, /odd: links\/"" must be an object, not a function/],
  ["a link without a name for its argument", { links: { "": { kind: "room" } } }, /odd: links\/"" has no `to`.+"" is no name.+give `by`/],
  ["a link by no name", { links: { b: { kind: "room", by: "a-b" } } }, /links\/"b" has no `to`.+"a-b" is no name for one/],
  ["a link by an argument to several kinds", { links: { b: { kinds: ["room", "hall"] } } }, /"b" has no `to`.+make a link for each kind/],
  [
    "a link to one and to many",
    { links: { b: { kind: "room", to: () => undefined, by: "b" } } },
    /"b" has `to`.+and `by`, which is for many/,
  ],
  [
    "a link to one with choices",
    { links: { b: { kind: "room", to: () => undefined, choices: () => [] } } },
    /"b" has `to`.+and `choices`, which is for many/,
  ],
  ["a link without a kind", { links: { b: { to: () => undefined } } }, /odd: links\/"b" needs one of `kind` and `kinds`/],
  ["a link to no kinds", { links: { b: { kinds: [], to: () => undefined } } }, /odd: links\/"b" leads nowhere/],
  ["a link to what is no kind", { links: { b: { kinds: [{}], to: () => undefined } } }, /links\/"b" leads to an object: give a kind\./],
  ["`kinds` as text", { links: { b: { kinds: "room", to: () => undefined } } }, /links\/"b": `kinds` must be a list, not text/],
  ["`initial` as a value", { initial: {} }, /odd: `initial` must be a function, not an object/],
  ["a policy as text", { workMs: "5" }, /odd: `workMs` must be a number, not text/],
  ["a bound as a number", { restart: 3 }, /odd: `restart` must be an object, not a number/],
  ["a bound without a window", { restart: { max: 3 } }, /odd: restart\.withinMs must be a number above 0/],
  ["a resource without a URI", { resources: { a: { view: () => 1 } } }, /odd: resources\/a needs `uri`/],
];

for (const [what, definition, reason] of wrong) {
  test(`a wrong definition is BAD_DEFINITION, and says where: ${what}`, () => {
    assert.throws(
      () => actor("odd", { description: "Odd.", initial: () => ({}), ...definition }),
      (error) => error instanceof TroupeError && error.code === "BAD_DEFINITION" && (assert.match(error.message, reason), true),
    );
  });
}

test("a missing definition is BAD_DEFINITION, a missing name of the kind BAD_NAME", () => {
  assert.throws(() => actor("odd", unseen(undefined)), { code: "BAD_DEFINITION", message: /needs `description`/ });
  assert.throws(() => Reflect.apply(actor, undefined, ["odd"]), {
    code: "BAD_DEFINITION",
    message: /odd: its definition must be an object, not undefined/,
  });
  assert.throws(() => Reflect.apply(actor, undefined, [undefined, {}]), { code: "BAD_NAME" });
});

test("answering the id of a sent message is refused and names the id to use", () => {
  const kind = actor("asker", {
    description: "Asks.",
    initial: () => ({}),
    messages: {
      replied: { replies: true, run: ({ args, answer }) => answer(args.of, args.reply) },
      passed: { replies: true, run: ({ args, answer }) => answer("the call", args.reply) },
      done: { input: z.object({ of: z.string() }), run: ({ args, answer }) => answer(args.of, "done") },
    },
  });
  const stage = testActor(kind);
  const args = { of: "m1", to: "child/x", reply: { ok: 1 } };
  assert.throws(() => stage.turn("replied", args), { code: "BAD_TURN", message: /^answer\(\): .+`message\.id`\.$/ });
  stage.turn("passed", args);
  stage.turn("done", { of: "m1" });
  assert.deepEqual(stage.answered, { "the call": { ok: 1 }, m1: { ok: "done" } });
});

test("a reply handler needs the message it is for, and its own `run`", () => {
  const define = (reply: unknown) => actor("odd", unseen({ description: "Odd.", initial: () => ({ n: 0 }), replies: { paid: reply } }));
  const run = (): number => 1;
  for (const [reply, message] of [
    [{ run }, /replies\/paid needs `of` and `run`/],
    [{ of: { kind: "bank", action: "pay" } }, /replies\/paid needs `of` and `run`/],
    [{ of: {}, run }, /replies\.paid: `of` is a message of another kind: write `payments\.message\("charge"\)`/],
    [{ of: { kind: "bank", action: "pay" }, run: async () => 1 }, /replies\/paid: `run` is an async function/],
    [{ of: { kind: "bank", action: "pay" }, run, refuse: run }, /"refuse" means nothing here, do you mean "refused"\?/],
  ] as const)
    assert.throws(() => define(reply), { code: "BAD_DEFINITION", message });
});

test("an async function is rejected where the kind is defined, except `work`", () => {
  const define = (more: object) => actor("odd", unseen({ description: "Odd.", initial: () => ({ n: 0 }), ...more }));
  const wait = async (): Promise<number> => 1;
  const input = z.object({ a: z.string() });
  const asynchronous: readonly (readonly [where: string, definition: object])[] = [
    ["tools\\/act: `run`", { tools: { act: { description: "Act.", run: wait } } }],
    ["tools\\/act: `view`", { tools: { act: { description: "Act.", view: wait } } }],
    ["tools\\/act: `enabled`", { tools: { act: { description: "Act.", enabled: wait, run: () => 1 } } }],
    ["tools\\/act: `choices\\.a`", { tools: { act: { description: "Act.", input, choices: { a: wait }, run: () => 1 } } }],
    ["messages\\/beat: `run`", { messages: { beat: { run: wait } } }],
    ["odd: `initial`", { initial: wait }],
    ['links\\/"x": `to`', { links: { x: { kinds: ["odd"], to: wait } } }],
  ];
  for (const [where, definition] of asynchronous)
    assert.throws(() => define(definition), { code: "BAD_DEFINITION", message: new RegExp(`${where} is an async function.+\`work\``) });
  assert.doesNotThrow(() => define({ tools: { act: { description: "Act.", work: wait } } }));
});
