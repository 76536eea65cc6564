import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../core/contract/index.ts";
import { actorCapability, auditLog, Capabilities, capability, PacketFlow, planChain, searchesOf } from "../packet/index.ts";
import { itemsIn, servedConsole } from "./served.fixture.ts";

const notes = actorCapability("Notes", {
  intent: "Store notes.",
  initialState: { notes: Array<string>() },
  requires: ["text"],
  effects: [auditLog("info", "noted")],
  search: ["payload:text"],
  messages: { note: { run: ({ state, payload }) => ({ count: state.notes.push(JSON.stringify(payload)) }) } },
});
const words = capability("words", { intent: "Count words.", requires: ["text"], provides: ["words"], execute: () => ({ words: 1 }) });
const minutes = capability("minutes", {
  intent: "Say how long.",
  requires: ["words"],
  provides: ["minutes"],
  execute: () => ({ minutes: 1 }),
});

async function serve() {
  await using opened = new AsyncDisposableStack();
  const all = [notes, words, minutes];
  let searches: ReturnType<typeof searchesOf>;
  const served = opened.use(
    await servedConsole({
      kinds: [notes.kind],
      more: {
        packets: {
          capabilities: () => all,
          plan: (from, to) => planChain(all, from, to)?.steps,
          search: async (query, options) => await searches?.find(query, options),
        },
      },
    }),
  );
  const engine: Engine = served.engine;
  searches = opened.use(searchesOf(all, engine, ":memory:") ?? assert.fail("nothing is searchable"));
  const flow = opened.use(new PacketFlow({ capabilities: new Capabilities(all), engine }));
  const own = opened.move();
  return { ...served, flow, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

test("capabilities are listed by name with their actors, fields and effects, and found by text", async () => {
  await using server = await serve();
  const note = JSON.stringify({
    version: "1.0",
    type: "actor_message",
    capability_id: "Notes",
    actor_id: "a",
    payload: { text: "Buy a torch" },
  });
  const reply = await server.flow.open({ caller: { scopes: [], principal: "ann" } }).receive(note);
  assert.equal(reply.type, "capability_response", JSON.stringify(reply));
  const { body } = await server.client.get("/packets/capabilities");
  assert.deepEqual(
    itemsIn(body).map(({ id, runs, requires, provides, kind, actors, shared, searchable, effects }) => ({
      id,
      runs,
      requires,
      provides,
      ...(kind !== undefined && { kind, actors, shared, searchable, effects }),
    })),
    [
      {
        id: "Notes",
        runs: "actor",
        requires: ["text"],
        provides: [],
        kind: "notes",
        actors: 1,
        shared: false,
        searchable: ["payload:text"],
        effects: ["audit log noted"],
      },
      { id: "minutes", runs: "function", requires: ["words"], provides: ["minutes"] },
      { id: "words", runs: "function", requires: ["text"], provides: ["words"] },
    ],
  );
  const ids = async (query: string): Promise<readonly unknown[]> =>
    itemsIn((await server.client.get(`/packets/capabilities?${query}`)).body).map(({ id }) => id);
  assert.deepEqual(await ids("search=COUNT"), ["words"]);
  assert.deepEqual(await ids("limit=1"), ["Notes"]);
  assert.deepEqual(await ids("limit=1&after=Notes"), ["minutes"]);

  // An operator finds messages to actors of all owners.
  const found = async (query: string): Promise<readonly unknown[]> => {
    for (const end = Date.now() + 10_000; ; await new Promise((later) => setTimeout(later, 20))) {
      const hits = itemsIn((await server.client.get(`/packets/search?${query}`)).body);
      if (hits.length > 0 || Date.now() > end) return hits.map(({ actor, snippet }) => [actor, snippet]);
    }
  };
  assert.deepEqual(await found("text=torch"), [["notes/a", "Buy a torch"]]);
  assert.deepEqual(await found("text=torch&actor=notes%2Fa"), [["notes/a", "Buy a torch"]]);
  assert.deepEqual(itemsIn((await server.client.get("/packets/search?text=lamp")).body), []);
  assert.equal((await server.client.get("/packets/search")).status, 400);
});

test("a plan leads from known fields to wanted ones, or there is none", async () => {
  await using server = await serve();
  const plan = async (query: string): Promise<unknown> => (await server.client.get(`/packets/plan?${query}`)).body;
  assert.deepEqual(await plan("from=text&to=minutes"), {
    steps: [
      { capability_id: "words", takes: ["text"], gives: ["words"] },
      { capability_id: "minutes", takes: ["words"], gives: ["minutes"] },
    ],
  });
  assert.deepEqual(await plan("from=&to=minutes"), {});
  const many = Array.from({ length: 51 }, (_, n) => `f${n}`).join(",");
  assert.equal((await server.client.get(`/packets/plan?to=${many}`)).status, 400);
});

test("without capabilities the API says so", async () => {
  await using server = await servedConsole({ kinds: [] });
  for (const path of ["/packets/capabilities", "/packets/plan", "/packets/search?text=a", "/guests", "/guests/a"]) {
    const { status, body } = await server.client.get(path);
    assert.deepEqual([status, Object(body["error"])["code"]], [409, "NOT_AVAILABLE"], path);
  }
});
