// Values that an author may put into a state by mistake: the commit names the path, and the old state stays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { DEFAULT_POLICY, type Behaviour, type EngineError, type Json, type Turn } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { actor } from "./index.ts";

type State = Record<string, unknown>;
type Does = (state: State) => unknown;

/** As an author without a type checker would write it. */
const unseen = (value: unknown) => Object(value);

function assertFrozen(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value), JSON.stringify(value));
  for (const item of Object.values(value)) assertFrozen(item);
}

const FLAT: State = { n: 1, text: "x" };
const DEEP: State = { n: 1, list: [{ id: 1 }, { id: 2 }], part: { inner: { n: 1 } } };

/** Runs turns of one actor in an engine, one after another. */
async function staged(initial: State) {
  let does: Does = () => undefined;
  const kind = actor("thing", {
    description: "A thing.",
    persistence: "memory",
    initial: (): State => structuredClone(initial),
    messages: { act: { run: ({ state }) => void does(state) } },
  });
  const engine = await LocalEngine.start({ kinds: [kind] });
  const state = async (): Promise<unknown> => (await engine.read("thing/main"))?.state;
  const turn = async (next: Does): Promise<unknown> => {
    does = next;
    await engine.call({ to: "thing/main", action: "act", args: null, start: null });
    return state();
  };
  return { turn, state, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

let deep: unknown = 1;
for (let level = 0; level < 20_000; level += 1) deep = [deep];
const cycle: State = { n: 1 };
cycle["self"] = [cycle];

const wrong: readonly (readonly [what: string, value: unknown, reason: RegExp])[] = [
  ["NaN", Number.NaN, /^state\.n is NaN/],
  ["undefined", undefined, /^state\.n is undefined/],
  ["a Date", new Date(0), /^state\.n is a Date/],
  ["a BigInt", 1n, /^state\.n is a BigInt/],
  ["a lone surrogate", "\ud800", /^state\.n is text with a lone surrogate/],
  ["a function", () => 1, /^state\.n is a function/],
  [
    "a class instance",
    new (class Sword {
      edge = 1;
    })(),
    /^state\.n is a Sword/,
  ],
  ["bytes", new Uint8Array(2), /^state\.n is a Uint8Array/],
  ["a symbol as key", { [Symbol("x")]: 1 }, /^state\.n has a symbol as key/],
  [
    "a getter",
    {
      get now() {
        return 1;
      },
    },
    /^state\.n\.now is a getter/,
  ],
  ["a hidden value", { list: [Object.defineProperty({ a: 1 }, "hid", { value: 1 })] }, /^state\.n\.list\[0\]\.hid is hidden/],
  ["a hidden item", Object.defineProperty([1], "0", { enumerable: false }), /^state\.n\[0\] is hidden/],
  ["a list with a name", Object.assign([1], { extra: 1 }), /^state\.n\.extra stands in a list/],
  ["a cycle", cycle, /^state\.n\.self\[0\] contains itself/],
  ["what is nested too deep", deep, /is nested deeper than 128/],
];

for (const [what, value, reason] of wrong)
  test(`a value that is not JSON is refused with its path, the state unchanged: ${what}`, async () => {
    for (const initial of [FLAT, DEEP]) {
      await using stage = await staged(initial);
      const before = await stage.turn(() => undefined);
      for (const put of [(state: State) => (state["n"] = value), (state: State) => Object.assign(state, { o: 1, n: value })])
        await assert.rejects(
          stage.turn(put),
          (error: EngineError) => error.code === "STATE_NOT_JSON" && (assert.match(error.message, reason), true),
        );
      assert.equal(await stage.state(), before);
    }
  });

test("a state in memory is limited in size, however slowly it grows", async () => {
  const kind = actor("tape", {
    description: "A tape.",
    persistence: "memory",
    maxStateBytes: 1_000,
    initial: () => ({ text: "", part: { n: 0 } }),
    messages: {
      add: {
        run({ state }) {
          state.part.n += 1;
          state.text += "é".repeat(20);
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [kind] });
  const call = () => engine.call({ to: "tape/main", action: "add", args: null, start: null });
  const bytes = async (): Promise<number> => Buffer.byteLength(JSON.stringify((await engine.read("tape/main"))?.state));
  for (let turn = 0; turn < 24; turn += 1) await call();
  assert.equal(await bytes(), 987);
  await assert.rejects(call(), { code: "STATE_TOO_LARGE" });
  assert.equal(await bytes(), 987);
});

test("a state with a cycle or a symbol key is refused", async () => {
  await using stage = await staged(DEEP);
  await assert.rejects(
    stage.turn((state) => (unseen(state["part"]).self = state["part"])),
    { code: "STATE_NOT_JSON", message: /contains itself/ },
  );
  await assert.rejects(
    stage.turn((state) => (unseen(state["part"]).up = { state })),
    { code: "STATE_NOT_JSON", message: /contains itself/ },
  );
  await assert.rejects(
    stage.turn((state) => (unseen(state["part"]).top = state)),
    { code: "STATE_NOT_JSON", message: /contains itself/ },
  );
  await assert.rejects(
    stage.turn((state) => {
      state["box"] = Object.freeze({ open: {}, up: state });
      unseen(unseen(state["box"]).open).top = state;
    }),
    { code: "STATE_NOT_JSON", message: /contains itself/ },
  );
  await assert.rejects(
    stage.turn((state) => (unseen(state)[Symbol("x")] = 1)),
    { code: "STATE_NOT_JSON", message: /symbol as key/ },
  );
});

test("getters, prototypes, named keys of arrays and freezing are refused with advice", async () => {
  const clumsy: readonly Does[] = [
    (state) => Object.defineProperty(state, "n", { get: () => 1 }),
    (state) => Object.defineProperty(state, "hidden", { value: 1 }),
    (state) => Object.setPrototypeOf(state, null),
    (state) => Object.freeze(state["list"]),
    (state) => (unseen(state["list"]).name = 1),
  ];
  for (const does of clumsy) {
    await using stage = await staged(DEEP);
    await assert.rejects(stage.turn(does), (error: EngineError) => unseen(error.cause).code === "BAD_TURN");
  }
});

test("a key called __proto__ is stored like any other, in flat states too", async () => {
  for (const initial of [FLAT, DEEP]) {
    await using stage = await staged(initial);
    for (const value of [5, { polluted: true }]) {
      const next = await stage.turn((state) => (state["__proto__"] = value));
      assert.equal(JSON.stringify(next), JSON.stringify({ ...initial, ["__proto__"]: value }));
      assert.equal(Object.getPrototypeOf(next), Object.prototype);
    }
    const inside = await stage.turn((state) => (unseen(Object.entries(state).at(-1)?.[1]).polluted = 1));
    assert.match(JSON.stringify(inside), /"__proto__":\{"polluted":1\}\}$/);
  }
});

test("an object assigned twice becomes two parts that later turns write separately", async () => {
  for (const given of [{ n: 1, tags: ["x"] }, Object.freeze({ n: 1, tags: ["x"] })]) {
    await using stage = await staged(DEEP);
    await stage.turn((state) => (state["one"] = given));
    await stage.turn((state) => {
      state["one"] = given;
      state["two"] = given;
      unseen(state["two"]).n = 5;
      unseen(state["two"]).tags.push("y");
    });
    await stage.turn((state) => (state["three"] = [given]));
    const next = unseen(await stage.turn((state) => unseen(state["one"]).tags.push("z")));
    assert.deepEqual([next.one, next.two, next.three], [{ n: 1, tags: ["x", "z"] }, { n: 5, tags: ["x", "y"] }, [{ n: 1, tags: ["x"] }]]);
    assert.deepEqual(given, { n: 1, tags: ["x"] });
  }
});

test("C3 unfrozen parts of an assigned frozen object are frozen with the state", async () => {
  const moves: readonly ((state: State, given: object) => unknown)[] = [
    (state, given) => Object.assign(state, { n: given }),
    (state, given) => Object.assign(state, { n: given }) && unseen(state["n"]).flag,
    (state, given) => Object.assign(state, { n: given }) && Object.assign(state, { m: state["n"], n: 1 }),
    (state, given) => unseen(state["list"]).push(given) && unseen(state["list"]).unshift(0),
    (state, given) => unseen(state["list"]).push(given) && (unseen(state["list"])[2].flag = 2) && unseen(state["list"]).unshift(0),
    (state, given) => Object.assign(state, { n: given }) && unseen(state["n"]).tags.push("mine"),
    (state, given) => Object.assign(state, { n: given }) && (unseen(state["n"]).more.part = 8) && Object.assign(state, { m: [state["n"]] }),
  ];
  for (const move of moves) {
    await using stage = await staged(DEEP);
    const given = Object.freeze({ flag: 1, tags: ["x"], zero: -0, more: { part: 1 } });
    const next = await stage.turn((state) => move(state, given));
    const before = JSON.stringify(next);
    assert.match(before, /"tags":\["x"/);
    assertFrozen(next);
    try {
      given.tags.push("later");
      given.more.part = 9;
    } catch (error) {
      assert.ok(error instanceof TypeError);
    }
    assert.equal(JSON.stringify(await stage.state()), before);
  }
});

test("writes to a frozen value after it was assigned are part of the state", async () => {
  for (const given of [
    { zero: -0, n: 1 },
    { zero: 0, n: 1 },
    { zero: [-0], n: 1 },
  ]) {
    await using stage = await staged(DEEP);
    const next = unseen(
      await stage.turn((state) => {
        state["part"] = Object.freeze(given);
        unseen(state["part"]).n = 5;
      }),
    );
    assert.equal(next.part.n, 5);
    assert.equal(Object.is([next.part.zero].flat()[0], 0), true);
  }
  await using stage = await staged(DEEP);
  const next = unseen(
    await stage.turn((state) => {
      state["n"] = Object.freeze({ item: unseen(state["list"])[0], n: 1 });
      unseen(state["n"]).n = 5;
      unseen(state["n"]).item.id = 7;
      state["copy"] = state["n"];
    }),
  );
  assert.deepEqual(
    [next.n, next.copy],
    [
      { item: { id: 7 }, n: 5 },
      { item: { id: 7 }, n: 5 },
    ],
  );
  assert.deepEqual(next.list[0], { id: 7 });
});

test("a frozen value or an old part that is assigned again is unchanged", async () => {
  await using stage = await staged(DEEP);
  const before = unseen(await stage.turn(() => undefined));
  const given = unseen(Object.freeze({ n: 1 }));
  const next = unseen(
    await stage.turn((state) => {
      state["n"] = given;
      unseen(state["n"]).n = 5;
      state["n"] = given;
      unseen(state["part"]).inner.n = 5;
      state["part"] = before.part;
      unseen(state["list"])[0].id = 5;
      unseen(state["list"])[0] = before.list[0];
    }),
  );
  assert.deepEqual([next.part === before.part, next.list === before.list], [true, true]);
  assert.deepEqual(next, { ...DEEP, n: { n: 1 } });
});

test("a hole left by deleting an item of an array is refused", async () => {
  await using stage = await staged(DEEP);
  const before = await stage.turn(() => undefined);
  await assert.rejects(
    stage.turn((state) => Reflect.deleteProperty(unseen(state["list"]), "0")),
    { code: "STATE_NOT_JSON", message: /^state\.list\[0\] is undefined/ },
  );
  await assert.rejects(
    stage.turn((state) => (unseen(state["list"])[4_294_967_295] = 1)),
    (error: EngineError) => unseen(error.cause).code === "BAD_TURN",
  );
  assert.equal(await stage.state(), before);
});

test("an array that was truncated and extended to its old length has holes: refused", async () => {
  await using stage = await staged(DEEP);
  await stage.turn(() => undefined);
  await assert.rejects(
    stage.turn((state) => Object.assign(unseen(state["list"]), { length: 1 }) && (unseen(state["list"]).length = 2)),
    { code: "STATE_NOT_JSON", message: /^state\.list\[1\] is undefined/ },
  );
  assert.deepEqual(await stage.state(), DEEP);
});

test("a value that is not JSON is refused in place of an object or array too", async () => {
  const hidden = (value: object) => Object.defineProperty(value, "hid", { value: 1 });
  const puts: readonly (readonly [Does, RegExp])[] = [
    [(state) => (state["part"] = hidden({ inner: { n: 1 } })), /^state\.part\.hid is hidden/],
    [(state) => (unseen(state["part"]).inner = hidden({ n: 1 })), /^state\.part\.inner\.hid is hidden/],
    [(state) => (unseen(state["list"])[1] = hidden({ id: 2 })), /^state\.list\[1\]\.hid is hidden/],
    [(state) => unseen(state["list"]).push(hidden({ id: 3 })), /^state\.list\[2\]\.hid is hidden/],
    [(state) => (state["list"] = Object.assign([{ id: 1 }], { extra: 1 })), /^state\.list\.extra stands in a list/],
  ];
  for (const [put, reason] of puts) {
    await using stage = await staged(DEEP);
    await stage.turn(() => undefined);
    await assert.rejects(stage.turn(put), { code: "STATE_NOT_JSON", message: reason });
    assert.deepEqual(await stage.state(), DEEP);
  }
});

test("a value that is not JSON is refused inside a frozen value with drafts or writes", async () => {
  const hidden = (value: object) => Object.defineProperty(value, "hid", { value: 1 });
  const symbol = (value: object) => Object.defineProperty(value, Symbol("x"), { value: 1 });
  const getter = (value: object) => Object.defineProperty(value, "now", { get: () => 1, enumerable: true });
  const listOf = (length: number, ...items: readonly unknown[]) => Object.assign([...items], { length });
  const moves: readonly (readonly [given: (state: State) => object, reason: RegExp])[] = [
    [({ part }) => listOf(2, part), /^state\.n\[1\] is undefined/],
    [({ part }) => Object.assign([part], { extra: 1 }), /^state\.n\.extra stands in a list/],
    [({ part }) => hidden({ part }), /^state\.n\.hid is hidden/],
    [({ part }) => symbol({ part }), /^state\.n has a symbol as key/],
    [({ part }) => getter({ part }), /^state\.n\.now is a getter/],
    [({ part }) => Object.defineProperty({}, "part", { value: part }), /^state\.n\.part is hidden/],
  ];
  for (const [given, reason] of moves) {
    await using stage = await staged(DEEP);
    await stage.turn(() => undefined);
    const refused = { code: "STATE_NOT_JSON", message: reason };
    await assert.rejects(
      stage.turn((state) => (state["n"] = Object.freeze(given(state)))),
      refused,
    );
    await assert.rejects(
      stage.turn((state) => {
        state["n"] = Object.freeze(given({ part: 1 }));
        unseen(state["n"])[0] = 2;
      }),
      refused,
    );
    assert.deepEqual(await stage.state(), DEEP);
  }
});

test("a getter that returns a draft is refused as a getter", async () => {
  for (const keep of [(value: object) => value, (value: object) => Object.freeze(value)]) {
    await using stage = await staged(DEEP);
    await assert.rejects(
      stage.turn((state) => {
        const { part } = state;
        state["n"] = keep({
          get now() {
            return part;
          },
        });
      }),
      { code: "STATE_NOT_JSON", message: /^state\.n\.now is a getter/ },
    );
  }
});

test("deleting an array's length is refused with advice on how to empty it", async () => {
  await using stage = await staged(DEEP);
  await assert.rejects(
    stage.turn((state) => Reflect.deleteProperty(unseen(state["list"]), "length")),
    (error: EngineError) => (assert.match(unseen(error.cause).message, /set it to 0 to empty the list/), true),
  );
});

test("the error for cloning a draft says how to copy it", async () => {
  await using stage = await staged(DEEP);
  await assert.rejects(
    stage.turn((state) => structuredClone(state["list"])),
    (error: EngineError) => {
      assert.equal(unseen(error.cause).code, "BAD_TURN");
      assert.match(unseen(error.cause).message, /JSON\.parse\(JSON\.stringify\(value\)\)/);
      return true;
    },
  );
  await stage.turn((state) => (state["copy"] = JSON.parse(JSON.stringify(state["list"]))));
  assert.deepEqual(await stage.state(), { ...DEEP, copy: DEEP["list"] });
});

test("a draft is printed as what it holds, in logs too", async () => {
  await using stage = await staged(DEEP);
  const printed: string[] = [];
  await stage.turn((state) => {
    state["n"] = 2;
    printed.push(inspect(state, { depth: 5 }), inspect(state["list"]), inspect([state["part"]], { depth: 5 }));
  });
  assert.deepEqual(printed, [inspect({ ...DEEP, n: 2 }, { depth: 5 }), inspect(DEEP["list"]), inspect([DEEP["part"]], { depth: 5 })]);
});

test("a part moved between two places that share an object keeps its own value", async () => {
  await using stage = await staged(DEEP);
  await stage.turn((state) => (state["twin"] = state["part"]));
  const next = unseen(
    await stage.turn((state) => {
      unseen(state["part"]).inner = 0;
      state["part"] = state["twin"];
    }),
  );
  assert.deepEqual(next, { ...DEEP, twin: DEEP["part"] });
});

test("a property descriptor's value is a draft that can be written to", async () => {
  await using stage = await staged(DEEP);
  const before = await stage.turn(() => undefined);
  const next = unseen(await stage.turn((state) => (unseen(Object.getOwnPropertyDescriptor(state, "part")?.value).inner.n = 7)));
  assert.equal(next.part.inner.n, 7);
  assert.deepEqual(before, DEEP);
});

test("a draft of an array takes as many items at once as an array", async () => {
  await using stage = await staged({ list: [] });
  const many = Array.from({ length: 50_000 }, (_, n) => n);
  const next = unseen(await stage.turn((state) => unseen(state["list"]).push(...many)));
  assert.equal(next.list.length, 50_000);
});

test("a wide object keeps its keys and their order", async () => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`key${n}`, { n }]));
  await using stage = await staged({ ["__proto__"]: 1, ...wide });
  const next = await stage.turn((state) => (unseen(state["key7"]).n = 8));
  assert.equal(JSON.stringify(next), JSON.stringify({ ["__proto__"]: 1, ...wide, key7: { n: 8 } }));
});

test("-0 becomes 0, as in JSON text", async () => {
  await using stage = await staged(DEEP);
  const next = unseen(await stage.turn((state) => Object.assign(state, { n: -0, given: [-0] })));
  assert.ok(Object.is(next.n, 0) && Object.is(next.given[0], 0));
});

test("the draft of a turn that threw is revoked too", async () => {
  await using stage = await staged(FLAT);
  let retained: State = {};
  await assert.rejects(
    stage.turn((state) => {
      retained = state;
      throw new RangeError("crash");
    }),
  );
  assert.throws(() => (retained["n"] = 9), { name: "TypeError", message: /revoked/ });
});

test("C3 a forged hint, or one about another state, does not prevent checks of a state", async () => {
  const inner = actor("inner", {
    description: "Inner.",
    initial: (): State => ({ n: 1 }),
    messages: { act: { run: ({ state }) => void (state["n"] = 2) } },
  });
  const bad = Object.freeze({ n: Number.NaN });
  const claim = (before: unknown) => ({ before, after: bad, growth: 25, keys: [], at: () => undefined });
  const forgeries: readonly ((turn: Turn<object>, before: unknown) => Turn<unknown>)[] = [
    (turn) => ({ ...turn, state: bad }),
    (_, before) => ({ state: bad, dirty: unseen(claim(before)) }),
    ({ dirty }, before) => ({ state: bad, dirty: Object.assign(Object.create(unseen(dirty)), claim(before)) }),
    // The class cannot be reached from a hint.
    ({ dirty }, before) => ({ state: bad, dirty: new (unseen(dirty).constructor)(claim(before)) }),
    (turn) => ({ ...turn, state: { ...turn.state, n: Number.NaN } }),
    (turn) => ({ ...turn, state: { n: 1, more: new Date(0) } }),
    (turn) => Object.assign(Object.create(turn), { state: Object.freeze({ n: 1n }) }),
  ];
  for (const forge of forgeries) {
    const bare: Behaviour = {
      kind: "bare",
      version: 1,
      policy: { ...DEFAULT_POLICY, persistence: "memory" },
      initial: (): Json => ({ n: 1 }),
      receive(state, message) {
        const turn = inner.receive(unseen(state), { ...message, action: "act" });
        assert.ok(typeof turn !== "function");
        return forge(turn, state);
      },
    };
    await using engine = await LocalEngine.start({ kinds: [bare] });
    await assert.rejects(engine.call({ to: "bare/main", action: "x", args: null, start: null }), { code: "STATE_NOT_JSON" });
  }
});

test("a hint that is used again applies to its own two states only", async () => {
  const inner = actor("inner", {
    description: "Inner.",
    initial: (): State => ({ n: 1, m: 1 }),
    messages: { act: { run: ({ state }) => void (state["n"] = 2) } },
  });
  const turns: Turn<object>[] = [];
  const bare: Behaviour = {
    kind: "bare",
    version: 1,
    policy: { ...DEFAULT_POLICY, persistence: "memory" },
    initial: (): Json => ({ n: 1, m: 1 }),
    receive(state, message) {
      const [first] = turns;
      if (message.action === "again" && first !== undefined) return first;
      if (message.action === "other") return { state: { n: 2, m: 7 } };
      const turn = inner.receive(unseen(state), message);
      assert.ok(typeof turn !== "function");
      turns.push(turn);
      return turn;
    },
  };
  await using engine = await LocalEngine.start({ kinds: [bare] });
  for (const action of ["act", "other", "again"]) await engine.call({ to: "bare/main", action, args: null, start: null });
  assert.deepEqual((await engine.read("bare/main"))?.state, { n: 2, m: 1 });
  const [turn] = turns;
  assert.ok(turn !== undefined && "dirty" in turn);
  assert.equal(JSON.stringify(turn), '{"state":{"n":2,"m":1}}', "the text of a turn has no hint");
});
