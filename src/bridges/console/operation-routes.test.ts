import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { storeReader } from "../operate/index.ts";
import { itemsIn, servedConsole, textOf } from "./served.fixture.ts";

let impure = 100;
const counter = actor("counter", {
  description: "Counts.",
  per: "link",
  state: z.object({ n: z.number().default(0) }),
  tools: {
    add: { description: "Count on.", run: ({ state }) => (state.n += 1) },
    tell: { description: "Send.", run: ({ send }) => send({ to: "counter/other", action: "tools/add", args: {}, start: null }) },
    roll: { description: "Not pure.", run: ({ state }) => (state.n = impure += 1) },
    lose: { description: "Send to nobody.", run: ({ send }) => send({ to: "counter/nobody", action: "tools/add", args: { pin: 1 } }) },
  },
});
const PATH = "/actors/counter/main";

async function served(...tools: readonly string[]) {
  const store = memoryStore();
  const at = await servedConsole({ kinds: [counter], store });
  const call = (tool: string) => at.engine.call({ to: counter.id("main"), action: `tools/${tool}`, args: {}, start: null });
  for (const tool of tools) await call(tool);
  return { ...at, store, call };
}

const codeOf = ({ status, body }: { readonly status: number; readonly body: object }): readonly unknown[] => [
  status,
  Object(Object(body).error).code,
];

describe("what operators do", () => {
  test("edit writes an event with its reason and author, once the state is the one that was seen", async () => {
    await using at = await served("add", "add");
    const { head } = await at.client.read(PATH);
    const done = await at.client.post(`${PATH}/edit`, { patch: { n: 40 }, reason: "Counted wrong.", head });
    assert.deepEqual([done.status, done.body["seq"], done.body["checked"]], [200, 3, true]);
    assert.deepEqual(await at.call("add"), { ok: 41 });
    const event = await at.client.read(`/events/${textOf(done.body["head"])}`);
    assert.deepEqual(
      [event["type"], event["principal"], event["changed"], Object(event["args"]).reason],
      ["edit", "operator", ["/n"], "Counted wrong."],
    );
    assert.deepEqual(codeOf(await at.client.post(`${PATH}/edit`, { state: { n: 1 }, reason: "Again.", head })), [409, "CHANGED"]);
    assert.deepEqual(codeOf(await at.client.post(`${PATH}/edit`, { state: { n: 1 }, reason: "" })), [400, "BAD_REQUEST"]);
    const misfit = await at.client.post(`${PATH}/edit`, { state: { n: "1" }, reason: "Again." });
    assert.deepEqual(codeOf(misfit), [409, "STATE_MISFIT"]);
    assert.equal(Object(misfit.body["error"]).misfits[0].path, "/n");
    const [verified] = (await at.client.stream(`${PATH}/verify`)).slice(-1);
    assert.deepEqual([verified?.event, verified?.data["ok"], verified?.data["events"]], ["done", true, 4]);
  });

  test("edit is off outside development, unless the server allows it", async () => {
    const store = memoryStore();
    const about = { name: "t", version: "1", engine: "sqlite", development: false, docs: "" } as const;
    for (const [edit, status] of [
      [undefined, 409],
      [true, 404],
    ] as const) {
      await using at = await servedConsole({ kinds: [counter], store, more: { about, ...(edit === true && { edit }) } });
      assert.equal((await at.client.post("/actors/counter/none/edit", { state: {}, reason: "Why." })).status, status);
    }
  });

  test("revert, fork, stop and restart", async () => {
    await using at = await served("add", "tell", "add");
    assert.deepEqual(codeOf(await at.client.post(`${PATH}/revert`, { to: 1, reason: "Wrong." })), [409, "SENT"]);
    const reverted = await at.client.post(`${PATH}/revert`, { to: 1, reason: "Wrong.", force: true });
    assert.deepEqual([reverted.body["seq"], reverted.body["sent"]], [4, 1]);
    const fork = await at.client.post(`${PATH}/fork`, { to: "counter/copy", at: 3 });
    assert.equal(fork.status, 200);
    const copy = await at.client.read("/actors/counter/copy");
    assert.deepEqual([copy["state"], copy["muted"]], [{ n: 2 }, true]);
    assert.deepEqual((await at.client.post(`${PATH}/restart`)).body, { ok: true });
    assert.deepEqual((await at.client.post(`${PATH}/stop`, { reason: "over" })).body, { ok: true });
    assert.equal((await at.client.read(PATH))["status"], "stopped");
    assert.deepEqual(codeOf(await at.client.post("/actors/counter/none/restart")), [404, "NOT_FOUND"]);
    assert.deepEqual(codeOf(await at.client.post("/actors/counter/none/stop")), [404, "NO_ACTOR"]);
  });

  test("events of an operator say who it was", async () => {
    await using at = await served("add", "add");
    await at.client.post(`${PATH}/checkpoint`);
    await at.client.post(`${PATH}/revert`, { to: 1, reason: "Wrong." });
    await at.client.post(`${PATH}/fork`, { to: "counter/copy" });
    await at.client.post(`${PATH}/stop`, { reason: "over" });
    const who = async (path: string) => itemsIn(await at.client.read(`${path}/events`)).map(({ type, principal }) => [type, principal]);
    assert.deepEqual((await who(PATH)).slice(2), [
      ["checkpoint", "operator"],
      ["revert", "operator"],
      ["stop", "operator"],
    ]);
    assert.deepEqual((await who("/actors/counter/copy")).at(-1), ["fork", "operator"]);
    assert.equal((await at.client.stream(`${PATH}/verify`)).at(-1)?.data["ok"], true);
  });

  test("a batch reports progress, and the ids that failed", async () => {
    await using at = await served("add");
    for (let n = 0; n < 50; n += 1) await at.engine.call({ to: counter.id(`c${n}`), action: "tools/add", args: {}, start: null });
    const ids = [...Array.from({ length: 50 }, (_, n) => `counter/c${n}`), "counter/none", "no id"];
    const events = await at.client.stream("/batch", { operation: "stop", ids });
    assert.ok(events.some(({ event, data }) => event === "progress" && data["done"] === 20 && data["total"] === 52));
    const done = events.at(-1);
    assert.deepEqual([done?.event, done?.data["done"]], ["done", 50]);
    const failed = Object(done?.data["failed"]);
    assert.deepEqual([failed.length, failed[0].code, failed[1].code], [2, "NO_ACTOR", "USAGE"]);
    assert.equal(itemsIn(await at.client.read("/actors", { status: "stopped" })).length, 50);
    assert.deepEqual(codeOf(await at.client.post("/batch", { operation: "explode", ids })), [400, "BAD_REQUEST"]);
  });

  test("nothing is changed where a history is only read", async () => {
    await using at = await served("add");
    await using offline = await servedConsole({ kinds: [], isOffline: true, more: { reader: storeReader(at.store) } });
    const bodies = {
      stop: { reason: "x" },
      restart: {},
      fork: { to: "counter/x" },
      revert: { to: 1, reason: "x" },
      checkpoint: {},
      edit: { state: {}, reason: "x" },
      call: { offer: "tools/add" },
    };
    for (const [name, body] of Object.entries(bodies))
      assert.deepEqual(codeOf(await offline.client.post(`${PATH}/${name}`, body)), [409, "NOT_AVAILABLE"], name);
  });
});

describe("checks", () => {
  test("replay runs the turns with today's code, and shows what differs", async () => {
    await using at = await served("add", "roll", "add");
    const events = await at.client.stream(`${PATH}/replay`, {});
    const done = events.at(-1)?.data;
    assert.deepEqual([done?.["seq"], done?.["run"], done?.["differ"]], [3, 3, 1]);
    assert.equal(Object(done?.["mismatches"])[0].seq, 2);
    assert.equal(events[0]?.event, "progress");
    assert.equal((await at.client.stream(`${PATH}/replay`, { to: 4 }))[0]?.event, "failed");
  });

  test("a receipt is found in the chain, or said to be of another one", async () => {
    await using at = await served("add", "add");
    const { head, seq } = await at.client.read(PATH);
    const check = async (receipt: object) => (await at.client.post("/receipts/check", receipt)).body;
    const receipt = { actor: "counter/main", seq, head };
    const found = await check(receipt);
    assert.deepEqual([found["ok"], Object(found["event"]).seq], [true, 2]);
    assert.equal((await check({ ...receipt, head: "0".repeat(64) }))["ok"], false);
    assert.match(textOf((await check({ ...receipt, seq: 9 }))["what"]), /ends at event 2/);
    assert.equal((await check({ ...receipt, actor: "counter/none" }))["ok"], false);
    assert.equal((await at.client.post("/receipts/check", { actor: 1 })).status, 400);
  });
});

describe("causes", () => {
  test("lead from any event to its root and to all that followed, across actors, with dead letters", async () => {
    await using at = await served("tell", "lose");
    const letters = async (): Promise<readonly { readonly message: { readonly id: string } }[]> => await at.engine.letters();
    for (let tries = 0; (await letters()).length === 0 && tries < 200; tries += 1) await new Promise((resolve) => setTimeout(resolve, 20));
    const [told, lost] = itemsIn(await at.client.read(`${PATH}/events`));
    const other = itemsIn(await at.client.read("/actors/counter/other/events"));
    assert.equal(other.length, 1);
    const graph = await at.client.read(`/events/${textOf(other[0]?.["id"])}/causes`);
    assert.deepEqual([graph["root"], graph["of"], graph["cut"]], [told?.["id"], other[0]?.["id"], false]);
    const nodes = Object(graph["nodes"]);
    assert.deepEqual([nodes.length, nodes[0].depth, nodes[1].depth, nodes[1].actor], [2, 0, 1, "counter/other"]);
    const [edge] = Object(graph["edges"]);
    assert.deepEqual([edge.from, edge.to, edge.message, edge.waitedMs >= 0], [told?.["id"], other[0]?.["id"], "tools/add", true]);
    const withLetter = await at.client.read(`/events/${textOf(lost?.["id"])}/causes`);
    const letter = Object(withLetter["nodes"])[1];
    assert.deepEqual([letter.letter.to, letter.letter.action, letter.attempts], ["counter/nobody", "tools/add", 3]);
    const byLetter = await at.client.read(`/events/${encodeURIComponent(letter.id)}/causes`);
    assert.deepEqual([byLetter["of"], byLetter["root"]], [letter.id, lost?.["id"]]);
    assert.equal((await at.client.get(`/events/${"0".repeat(64)}/causes`)).status, 404);
  });
});
