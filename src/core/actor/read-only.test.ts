import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import * as z from "zod";
import { freezeDeep } from "../contract/internal.ts";
import { testActor } from "../../testing/index.ts";
import { actor } from "./index.ts";
import { frozenOf } from "./containers.ts";
import { readOnly } from "./read-only.ts";

const INHERITED = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__defineGetter__", "isPrototypeOf"];

interface Open {
  [key: string]: Open | undefined;
}

/** As author code sees it. */
const seen = (base: object): Open => Object(readOnly(freezeDeep(base)));

test("a key that a state does not have is undefined, whatever objects inherit", () => {
  for (const key of INHERITED)
    for (const base of [{ in: {} }, { in: { a: {}, b: {} } }, { in: [] }, { in: [{}] }]) {
      const state = seen(base);
      const rows = state["in"] ?? {};
      assert.equal(state[key], undefined, key);
      assert.equal(rows[key], undefined, key);
      assert.equal(rows["a"]?.[key] ?? rows["0"]?.[key], undefined, key);
      assert.equal(key in rows, false, key);
      assert.equal(Object.hasOwn(rows, key), false, key);
    }
});

test("a key that a state has is data, whatever its name", () => {
  for (const key of INHERITED) {
    const state = seen(JSON.parse(`{${JSON.stringify(key)}:{${JSON.stringify(key)}:1}}`));
    assert.deepEqual(Object.keys(state), [key]);
    assert.equal(JSON.stringify(state), `{${JSON.stringify(key)}:{${JSON.stringify(key)}:1}}`);
    assert.equal(state[key]?.[key], 1);
  }
});

test("author code that indexes a state by a caller's text finds only data", () => {
  const met: string[] = [];
  const meet = (state: { readonly players: Readonly<Record<string, unknown>> }, name: string): void => {
    if (state.players[name] !== undefined || Object(state)[name] !== undefined) met.push(name);
  };
  const open = {
    input: z.object({ name: z.string() }),
  };
  const kind = actor("board", {
    description: "A board.",
    initial: () => ({ players: { ann: 1 } as Record<string, unknown> }),
    tools: {
      look: { description: "Look.", ...open, view: ({ state, args }) => meet(state, args.name) },
      guarded: {
        description: "Guarded.",
        ...open,
        enabled: ({ state }) => (INHERITED.forEach((name) => meet(state, name)), true),
        choices: { name: ({ state }) => (INHERITED.forEach((name) => meet(state, name)), INHERITED) },
        run: ({ state, args }) => meet(state, args.name),
      },
      asking: {
        description: "Ask.",
        ...open,
        confirm: ({ state, args }) => (meet(state, args.name), undefined),
        run: ({ state, args }) => meet(state, args.name),
      },
    },
    resources: {
      player: { uri: "board://{name}", view: ({ state, args }) => meet(state, args.name) },
      some: { uri: "board://some/{name}", reads: ["players"], view: ({ state, args }) => meet(state, args.name) },
    },
    prompts: {
      hint: { description: "Hint.", ...open, view: ({ state, args }) => (meet(state, args.name), "Play.") },
    },
    links: { next: { kinds: ["board"], to: ({ state }) => (INHERITED.forEach((name) => meet(state, name)), undefined) } },
  });
  const stage = testActor(kind);
  for (const name of INHERITED) {
    for (const tool of ["look", "guarded", "asking"]) stage.turn(`tools/${tool}`, { name }, { can: ["elicitation"] });
    stage.view("tools/look", { name });
    for (const read of ["resources/player", "resources/some", "prompts/hint"])
      assert.ok("ok" in stage.view(read, { name }), JSON.stringify(stage.view(read, { name })));
    stage.surface();
  }
  assert.deepEqual(met, []);
});

test("a read-only state compares, prints and iterates like plain objects and arrays", () => {
  const base = freezeDeep({ list: [{ n: 1 }, { n: 2 }], map: { a: { n: 3 } }, n: 4, none: null });
  const state = Object(readOnly(base));
  assert.deepStrictEqual(
    state.list.map((item: { n: number }) => item.n),
    [1, 2],
  );
  assert.deepEqual([...state.list].length, 2);
  assert.deepEqual(Object.entries(state.map).length, 1);
  assert.deepEqual(state.list.concat([9]).length, 3);
  assert.ok(Array.isArray(state.list));
  assert.equal(state.list.includes(state.list[1]), true);
  assert.equal(state.list.indexOf(state.list[1]), 1);
  assert.equal(state.list[0], state.list[0]);
  assert.equal(JSON.stringify({ ...state }), JSON.stringify(base));
  assert.equal(inspect(state.map), inspect(base.map));
  assert.equal(`${state.map} ${state.list.length}`, "[object Object] 2");
  assert.equal(frozenOf(state.list), base.list);
});

test("a part of the state that a view returns is not copied", () => {
  const kind = actor("larder", {
    description: "A larder.",
    initial: () => ({ goods: [{ name: "bread" }], place: { room: "kitchen" } }),
    tools: {
      all: { description: "All.", view: ({ state }) => state },
      goods: { description: "Goods.", view: ({ state }) => state.goods },
      mixed: { description: "Mixed.", view: ({ state }) => ({ first: state.goods[0], ...state.place }) },
    },
  });
  const stage = testActor(kind);
  assert.deepStrictEqual(stage.view("tools/all"), { ok: { goods: [{ name: "bread" }], place: { room: "kitchen" } } });
  assert.deepStrictEqual(stage.view("tools/goods"), { ok: [{ name: "bread" }] });
  assert.deepStrictEqual(stage.view("tools/mixed"), { ok: { first: { name: "bread" }, room: "kitchen" } });
});

test("every way of writing to a read-only state is refused and changes nothing", () => {
  const base = freezeDeep({ list: [1, 2], map: { a: 1 } });
  const state = Object(readOnly(base));
  for (const write of [
    () => (state.map.a = 2),
    () => (state.map.b = 2),
    () => delete state.map.a,
    () => state.list.push(2),
    () => state.list.splice(0, 1),
    () => state.list.shift(),
    () => state.list.copyWithin(0, 1),
    () => (state.list.length = 0),
    () => Object.defineProperty(state.map, "b", { value: 1 }),
    () => Object.setPrototypeOf(state.map, null),
    () => Object.freeze(state.map),
  ])
    assert.throws(write, TypeError, String(write));
  assert.deepEqual(base, { list: [1, 2], map: { a: 1 } });
  assert.equal(JSON.stringify(seen({ list: [], map: {} })), '{"list":[],"map":{}}');
});

test("a retained part of a read-only state can be assigned to a later draft and found", () => {
  let retained: unknown;
  const part = (): Open => Object(retained);
  const kind = actor("larder", {
    description: "A larder.",
    initial: () => ({ goods: [{ n: 1 }, { n: 2 }], put: null as unknown }),
    tools: {
      keep: { description: "Keep.", view: ({ state }) => void (retained = state.goods) },
      set: { description: "Set.", run: ({ state }) => void (state.put = retained) },
      inside: { description: "Inside.", run: ({ state }) => void (state.put = { deep: [part()["0"]] }) },
      frozen: { description: "Frozen.", run: ({ state }) => void (state.put = Object.freeze({ deep: retained })) },
      push: { description: "Push.", run: ({ state }) => void state.goods.push(Object(part()["1"])) },
      write: { description: "Write.", run: ({ state }) => void ((state.put = part()["0"]), (Object(state.put).n = 3)) },
      writeInside: {
        description: "Write.",
        run: ({ state }) => void ((state.put = { deep: retained }), (Object(state.put).deep[0].n = 4)),
      },
      writePushed: {
        description: "Write.",
        run: ({ state }) => void (state.goods.push(Object(part()["0"])), (Object(state.goods[2]).n = 5)),
      },
      find: {
        description: "Find.",
        run: ({ state }) => [state.goods.includes(Object(part()["0"])), state.goods.indexOf(Object(part()["1"]))],
      },
    },
  });
  const goods = [{ n: 1 }, { n: 2 }];
  const left = (tool: string): unknown => {
    const stage = testActor(kind);
    stage.view("tools/keep");
    stage.turn(`tools/${tool}`);
    return stage.state;
  };
  assert.deepEqual(left("set"), { goods, put: goods });
  assert.deepEqual(left("inside"), { goods, put: { deep: [{ n: 1 }] } });
  assert.deepEqual(left("frozen"), { goods, put: { deep: goods } });
  assert.deepEqual(left("push"), { goods: [...goods, { n: 2 }], put: null });
  assert.deepEqual(left("write"), { goods, put: { n: 3 } });
  assert.deepEqual(left("writeInside"), { goods, put: { deep: [{ n: 4 }, { n: 2 }] } });
  assert.deepEqual(left("writePushed"), { goods: [...goods, { n: 5 }], put: null });
  const stage = testActor(kind);
  stage.view("tools/keep");
  assert.deepEqual(stage.turn("tools/find").reply, { ok: [true, 1] });
});

test("an author's proxy with a value for every key is replied as what it holds", () => {
  const kind = actor("counts", {
    description: "Counts.",
    initial: () => ({ words: ["a", "a"] }),
    tools: {
      count: {
        description: "Count.",
        view: ({ state: { words } }) => {
          const counts: Record<string, number> = {};
          const open = new Proxy(counts, { get: (all, key) => Reflect.get(all, key) ?? 0 });
          for (const one of words) open[one] = (open[one] ?? 0) + 1;
          return open;
        },
      },
    },
  });
  assert.deepEqual(testActor(kind).view("tools/count"), { ok: { a: 2 } });
});
