import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { readHeader, sha256 } from "../../core/chain/index.ts";
import { REDACTED } from "../../core/contract/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { pathsOf } from "./event-rows.ts";
import { recordLive } from "./live.ts";
import { itemsIn, servedConsole, textOf } from "./served.fixture.ts";

const counter = actor("counter", {
  description: "Counts.",
  per: "link",
  state: z.object({
    n: z.number().default(0),
    log: z.array(z.string()).default([]),
    by: z.object({ name: z.string().default("") }).prefault({}),
  }),
  tools: {
    add: { description: "Count on.", run: ({ state }) => (state.n += 1) },
    sign: {
      description: "Sign.",
      input: z.object({ name: z.string(), pin: z.string() }),
      secret: ["pin"],
      run({ state, args }) {
        state.by.name = args.name;
        state.log.push(args.name);
      },
    },
    note: { description: "Take a note.", input: z.object({ text: z.string() }), run: ({ state }) => (state.n += 1) },
    long: { description: "A long reply.", run: () => "x".repeat(5_000) },
    tell_all: {
      description: "Send to many.",
      run({ send }) {
        for (let n = 0; n < 150; n += 1) send({ to: `counter/o${n}`, action: "tools/add", args: {}, start: null });
      },
    },
    tell: { description: "Send.", run: ({ send }) => send({ to: "counter/other", action: "tools/add", args: {}, start: null }) },
  },
});

const PATH = "/actors/counter/main";

async function served(...tools: readonly string[]) {
  const store = memoryStore();
  const at = await servedConsole({ kinds: [counter], store });
  const call = (tool: string, args = {}, principal = "ann") =>
    at.engine.call({ to: counter.id("main"), action: `tools/${tool}`, args, start: null, viewer: { principal, scopes: [] } });
  for (const tool of tools) await call(tool);
  return { ...at, store, call };
}

const seqs = (body: Parameters<typeof itemsIn>[0]): readonly unknown[] => itemsIn(body).map(({ seq }) => seq);

describe("the events of an actor", () => {
  test("have the same changes with a filter as without", async () => {
    await using at = await served("add");
    const edit = (n: number) => at.client.post(`${PATH}/edit`, { patch: { n }, reason: "Counted wrong." });
    await edit(10);
    for (const name of ["ann", "bob", "cid"]) await at.call("sign", { name, pin: "1" });
    await at.call("sign", { name: "dan", pin: "1" }, "operator");
    await edit(20);
    const all = new Map(itemsIn(await at.client.read(`${PATH}/events`)).map((event) => [event["seq"], event["changed"]]));
    for (const filter of [{ type: "edit" }, { principal: "operator" }, { principal: "ann" }]) {
      const found = itemsIn(await at.client.read(`${PATH}/events`, filter));
      assert.ok(found.length > 1, JSON.stringify(filter));
      for (const { seq, changed } of found) assert.deepEqual(changed, all.get(seq), JSON.stringify([filter, seq]));
    }
  });

  test("are paged in both directions, none missing and none twice", async () => {
    await using at = await served(...Array.from({ length: 25 }, () => "add"));
    for (const order of ["asc", "desc"] as const) {
      const seen: unknown[] = [];
      let place: string | undefined;
      do {
        const page = await at.client.read(`${PATH}/events`, {
          order,
          limit: "10",
          ...(place !== undefined && { [order === "asc" ? "after" : "before"]: place }),
        });
        seen.push(...seqs(page));
        place = typeof page["next"] === "string" ? page["next"] : undefined;
      } while (place !== undefined);
      const all = Array.from({ length: 25 }, (_, n) => n + 1);
      assert.deepEqual(seen, order === "asc" ? all : all.toReversed());
    }
    assert.deepEqual(seqs(await at.client.read(`${PATH}/events`, { after: "3", before: "6" })), [4, 5]);
    assert.deepEqual(seqs(await at.client.read(`${PATH}/events`, { after: "25" })), []);
  });

  test("say who did what, what changed, and hide secrets", async () => {
    await using at = await served("add");
    await at.call("sign", { name: "bob", pin: "1234567" }, "bob");
    const [first, second] = itemsIn(await at.client.read(`${PATH}/events`));
    assert.deepEqual([first?.["type"], first?.["principal"], first?.["reply"], first?.["changed"]], ["tools/add", "ann", { ok: 1 }, [""]]);
    assert.deepEqual([second?.["principal"], second?.["args"]], ["bob", { name: "bob", pin: REDACTED }]);
    assert.deepEqual(second?.["changed"], ["/log/0", "/by/name"]);
    const { body } = await at.client.get(`/events/${textOf(second?.["id"])}`);
    assert.ok(!JSON.stringify(body).includes("1234567"));
  });

  test("are filtered by type, principal and text", async () => {
    await using at = await served("add", "add");
    await at.call("sign", { name: "Bertha", pin: "1234567" }, "bob");
    await at.call("add");
    const found = async (query: Readonly<Record<string, string>>) => seqs(await at.client.read(`${PATH}/events`, query));
    assert.deepEqual(await found({ type: "tools/sign" }), [3]);
    assert.deepEqual(await found({ principal: "bob" }), [3]);
    assert.deepEqual(await found({ search: "bertha" }), [3]);
    assert.deepEqual(await found({ search: "1234567" }), []);
    assert.deepEqual(await found({ type: "tools/add", order: "desc" }), [4, 2, 1]);
    assert.equal((await at.client.get(`${PATH}/events`, { order: "up" })).status, 400);
    assert.equal((await at.client.get(`${PATH}/events`, { before: "-1" })).status, 400);
  });

  test("of large events few are read at once, and pages end early", async () => {
    await using at = await served();
    const text = "x".repeat(2_500_000);
    for (let n = 0; n < 9; n += 1) await at.call("note", { text });
    const reads: number[] = [];
    const events = at.store.events.bind(at.store);
    Object.assign(at.store, {
      events: async (...query: Parameters<typeof events>) => {
        const found = await events(...query);
        reads.push(found.length);
        return found;
      },
    });
    const pagesOf = async (path: string, member: "after" | "before", query: Record<string, string>): Promise<readonly unknown[][]> => {
      const pages: unknown[][] = [];
      for (let place = {}; ;) {
        const page = await at.client.read(`${PATH}/${path}`, { ...query, ...place });
        pages.push([...seqs(page)]);
        if (typeof page["next"] !== "string") return pages;
        place = { [member]: page["next"] };
      }
    };
    assert.deepEqual(await pagesOf("events", "after", { limit: "1000" }), [[1, 2, 3, 4], [5, 6, 7, 8], [9]]);
    assert.deepEqual(await pagesOf("events", "before", { order: "desc" }), [[9, 8, 7, 6], [5, 4, 3, 2], [1]]);
    assert.deepEqual(await pagesOf("events", "after", { search: "nothing" }), [[], [], []]);
    assert.deepEqual((await pagesOf("texts", "after", {})).flat(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const { seq, state } = await at.client.read(`${PATH}/state`, { at: "8" });
    assert.deepEqual([seq, state], [8, { n: 8, log: [], by: { name: "" } }]);
    assert.ok(Math.max(...reads) <= 4, String(reads));
  });

  test("an event that holds a whole state has the paths that differ, and a checkpoint none", async () => {
    await using at = await served(...Array.from({ length: 300 }, () => "add"));
    const operate = await at.client.post(`${PATH}/checkpoint`, {});
    assert.equal(operate.status, 200);
    const rows = itemsIn(await at.client.read(`${PATH}/events`, { after: "1", limit: "300" }));
    assert.equal(rows.length, 300);
    for (const { seq, type, changed } of rows) assert.deepEqual(changed, type === "checkpoint" ? [] : ["/n"], JSON.stringify(seq));
  });

  test("a long reply is left out of the list, and the event has it", async () => {
    await using at = await served("long");
    await at.call("sign", { name: "y".repeat(5_000), pin: "1234567" });
    const [reply, args] = itemsIn(await at.client.read(`${PATH}/events`));
    assert.deepEqual([reply?.["reply"], reply?.["cut"]], [undefined, true]);
    assert.deepEqual([args?.["args"], args?.["cut"]], [undefined, true]);
    const event = await at.client.read(`/events/${textOf(args?.["id"])}`);
    assert.equal(event["cut"], undefined);
    assert.equal(Object(event["args"]).name.length, 5_000);
  });

  test("one event has the texts that were hashed", async () => {
    await using at = await served("tell");
    const [row] = itemsIn(await at.client.read(`${PATH}/events`));
    const event = await at.client.read(`/events/${textOf(row?.["id"])}`);
    assert.ok(typeof event["header"] === "string" && typeof event["body"] === "string");
    assert.equal(sha256(event["header"]), event["id"]);
    assert.equal(readHeader({ id: "", header: event["header"] }).body, sha256(event["body"]));
    assert.deepEqual([event["sent"], Object(event["sentIds"]).length, event["version"]], [1, 1, 1]);
    assert.equal((await at.client.get(`/events/${"0".repeat(64)}`)).status, 404);
    assert.equal((await at.client.get("/events/none")).status, 404);
  });

  test("an erased body is marked, and the rest is read", async () => {
    await using at = await served("add", "add");
    await at.client.post(`${PATH}/checkpoint`, { erase: true });
    const rows = itemsIn(await at.client.read(`${PATH}/events`));
    assert.deepEqual(
      rows.map(({ erased }) => erased),
      [true, true, undefined],
    );
    assert.equal((await at.client.get(`${PATH}/state`, { at: "1" })).status, 404);
  });
});

describe("states of an actor", () => {
  test("at any event, and where two differ", async () => {
    await using at = await served(...Array.from({ length: 300 }, () => "add"));
    assert.deepEqual(await at.client.read(`${PATH}/state`, { at: "299" }), {
      actor: "counter/main",
      seq: 299,
      version: 1,
      state: { n: 299, log: [], by: { name: "" } },
    });
    assert.equal((await at.client.read(`${PATH}/state`))["seq"], 300);
    assert.deepEqual(await at.client.read(`${PATH}/diff`, { from: "1", to: "5" }), {
      actor: "counter/main",
      from: 1,
      to: 5,
      differences: [{ path: "/n", before: 1, after: 5 }],
    });
    assert.deepEqual(Object((await at.client.read(`${PATH}/diff`))["differences"]), [{ path: "/n", before: 299, after: 300 }]);
    assert.equal((await at.client.get(`${PATH}/state`, { at: "301" })).status, 404);
    assert.equal((await at.client.get(`${PATH}/state`, { at: "0" })).status, 400);
    assert.equal((await at.client.get("/actors/counter/none/state")).status, 404);
  });
});

test("the paths of a patch are JSON Pointers, at most 20", () => {
  assert.deepEqual(pathsOf({ a: [1], "b/c": { "~d": 0 }, e: [1, null], f: [0, [2, [5]], [4, 1, []]] }), [
    "/a",
    "/b~1c/~0d",
    "/e",
    "/f/2",
    "/f/4",
  ]);
  assert.deepEqual(pathsOf([1]), [""]);
  assert.equal(pathsOf(Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`k${n}`, [n]]))).length, 20);
});

test("the request behind an event with many effects is looked for among a hundred events", async ({ mock }) => {
  const store = memoryStore();
  using live = recordLive();
  const looked = mock.method(live.traffic.rows, "requestOf");
  await using at = await servedConsole({ kinds: [counter], store, more: { live } });
  await at.engine.call({ to: counter.id("main"), action: "tools/tell_all", args: {}, start: null });
  while ((await store.count({})) < 151) await new Promise((resolve) => setImmediate(resolve));
  const [event] = await store.events(counter.id("main"), 0, 1);
  assert.equal((await at.client.read(`/events/${event?.id}`))["request"], undefined);
  assert.ok(looked.mock.callCount() <= 100, `${looked.mock.callCount()} looked at`);
});
