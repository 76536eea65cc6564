import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor, hasClaim } from "../../core/actor/index.ts";
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { servedConsole } from "./served.fixture.ts";

const lamp = actor("lamp", {
  description: "A lamp.",
  per: "link",
  state: z.object({ on: z.boolean().default(false) }),
  tools: { switch: { description: "Switch.", run: ({ state }) => (state.on = !state.on) } },
});
const desk = actor("desk", {
  description: "A desk.",
  per: "shared",
  state: z.object({ open: z.boolean().default(true), names: z.array(z.string()).default(["ann", "bob"]) }),
  allow: { manager: { holds: ({ viewer }) => hasClaim(viewer, "role", "manager"), reason: "Only managers may." } },
  tools: {
    close: {
      description: "Close it.",
      enabled: ({ state }) => state.open || "It is closed already.",
      run({ state, viewer }) {
        state.open = false;
        return viewer?.principal ?? "nobody";
      },
    },
    secretly: { description: "Hidden.", enabled: () => false, run: () => null },
    approve: { description: "Approve.", allow: "manager", run: () => "approved" },
    erase: { description: "Erase.", scopes: ["admin"], run: () => "erased" },
    assign: {
      description: "Assign.",
      input: z.object({ to: z.string() }),
      choices: { to: ({ state }) => state.names },
      run: ({ args }) => args.to,
    },
  },
  resources: { all: { uri: "desk://all", description: "All of it.", view: ({ state }) => ({ open: state.open }) } },
  links: { lamp: { kind: lamp, to: () => lamp.id("one") }, shelf: { kind: lamp, by: "shelf" } },
});
const draft = actor("draft", {
  description: "A draft.",
  per: "handle",
  state: z.object({ text: z.string().default("") }),
  tools: { write: { description: "Write.", run: ({ state }) => (state.text = "written") } },
});
const PATH = "/actors/desk/main";

async function served() {
  const at = await servedConsole({ kinds: [desk, lamp], store: memoryStore() });
  await at.engine.call({ to: desk.id("main"), action: "troupe/begin", args: null, start: null });
  await at.engine.call({ to: lamp.id("one"), action: "troupe/begin", args: null, start: null });
  return at;
}

const offersIn = (body: JsonObject): ReadonlyMap<unknown, JsonObject> =>
  new Map((Array.isArray(body["offers"]) ? body["offers"] : []).filter((one) => isJsonObject(one)).map((one) => [one["ref"], one]));

describe("the surface of an actor", () => {
  test("says what is on, what is off, why, and by which rule", async () => {
    await using at = await served();
    await at.engine.call({ to: desk.id("main"), action: "tools/close", args: {} });
    const body = await at.client.read(`${PATH}/surface`, { principal: "bob" });
    const offers = offersIn(body);
    const of = (ref: string) => {
      const { on, reason, by, listed } = offers.get(ref) ?? {};
      return [on, reason, by, listed];
    };
    assert.deepEqual(of("tools/close"), [false, "It is closed already.", "enabled", false]);
    assert.deepEqual(of("tools/secretly"), [false, undefined, "enabled", false]);
    assert.deepEqual(of("tools/approve"), [false, "Only managers may.", "allow", false]);
    assert.deepEqual([offers.get("tools/approve")?.["roles"], offers.get("tools/close")?.["roles"]], [["manager"], undefined]);
    assert.deepEqual(body["roles"], []);
    assert.deepEqual(of("tools/erase").slice(0, 1), [false]);
    assert.deepEqual([of("tools/erase")[2], of("tools/erase")[3]], ["scope", true]);
    assert.deepEqual(of("tools/assign"), [true, undefined, undefined, true]);
    assert.deepEqual(offers.get("tools/assign")?.["choices"], { to: ["ann", "bob"] });
    assert.equal(offers.get("tools/lamp__switch")?.["link"], "lamp");
    assert.deepEqual(body["links"], [
      { prefix: "lamp", to: "lamp/one" },
      { prefix: "shelf", keys: true },
    ]);
  });

  test("leaves what an argument decides to the actor that it names", async () => {
    await using at = await served();
    const offers = offersIn(await at.client.read(`${PATH}/surface`, {}));
    assert.deepEqual([offers.get("tools/shelf__switch")?.["on"], offers.get("tools/shelf__switch")?.["byArgument"]], [true, true]);
    assert.deepEqual([offers.get("tools/lamp__switch")?.["on"], offers.get("tools/lamp__switch")?.["byArgument"]], [true, undefined]);
  });

  test("is another one for other claims, scopes and list modes", async () => {
    await using at = await served();
    await at.engine.call({ to: desk.id("main"), action: "tools/close", args: {} });
    const offers = offersIn(
      await at.client.read(`${PATH}/surface`, { claims: '{"role":"manager"}', scopes: "admin,other", lists: "static" }),
    );
    assert.equal(offers.get("tools/approve")?.["on"], true);
    assert.equal(offers.get("tools/erase")?.["on"], true);
    assert.deepEqual([offers.get("tools/close")?.["on"], offers.get("tools/close")?.["listed"]], [false, true]);
    assert.equal(offers.get("tools/secretly")?.["listed"], false);
    assert.equal((await at.client.get(`${PATH}/surface`, { claims: "1" })).status, 400);
    assert.equal((await at.client.get("/actors/none/main/surface")).status, 409);
  });
});

describe("an actor that has not begun", () => {
  test("is shown as it would begin, with the rules of what is off, and stays so", async () => {
    await using at = await servedConsole({ kinds: [desk, lamp, draft], store: memoryStore() });
    const body = await at.client.read(`${PATH}/surface`);
    const offers = offersIn(body);
    assert.equal(body["seq"], 0);
    assert.deepEqual([offers.get("tools/close")?.["on"], offers.get("tools/secretly")?.["by"]], [true, "enabled"]);
    assert.deepEqual(body["links"], [
      { prefix: "lamp", to: "lamp/one" },
      { prefix: "shelf", keys: true },
    ]);
    assert.equal((await at.client.get(PATH)).status, 404);
  });

  test("begins with a call that says so, and with no other", async () => {
    await using at = await servedConsole({ kinds: [desk, lamp, draft], store: memoryStore() });
    const call = (path: string, more: object) => at.client.post(`${path}/call`, more);
    const { status, body } = await call(PATH, { offer: "tools/close" });
    assert.deepEqual([status, Object(body["error"]).code], [404, "NOT_FOUND"]);
    assert.deepEqual((await call(PATH, { offer: "resources/all", begin: true })).body["reply"], { ok: { open: true } });
    assert.equal((await at.client.get(PATH)).status, 404, "a read begins nothing");
    assert.deepEqual((await call(PATH, { offer: "tools/close", begin: true })).body["reply"], { ok: "operator" });
    assert.deepEqual((await call("/actors/lamp/one", { offer: "tools/switch", begin: true })).body["reply"], { ok: true });
    assert.equal((await at.client.read(PATH))["seq"], 1);
  });

  test("of a kind by handle begins by its start tool only", async () => {
    await using at = await servedConsole({ kinds: [desk, lamp, draft], store: memoryStore() });
    assert.equal((await at.client.get("/actors/draft/mine/surface")).status, 409);
    const { status, body } = await at.client.post("/actors/draft/mine/call", { offer: "tools/write", begin: true });
    assert.deepEqual([status, Object(body["error"]).code], [409, "NOT_AVAILABLE"]);
  });
});

describe("a token of a viewer", () => {
  const viewer = { principal: "bob", scopes: ["admin"], claims: { role: "manager" } };

  test("is made in development, where the server can", async () => {
    const made: object[] = [];
    const viewerToken = (one: object) => (made.push(one), { token: "t", expiresAt: 1 });
    await using at = await servedConsole({ kinds: [desk, lamp], store: memoryStore(), more: { viewerToken } });
    assert.deepEqual((await at.client.post("/viewer-tokens", viewer)).body, { token: "t", expiresAt: 1 });
    await at.client.post("/viewer-tokens", { principal: "" });
    assert.deepEqual(made, [viewer, { scopes: [] }]);
    assert.equal((await at.client.post("/viewer-tokens", { scopes: "admin" })).status, 400);
    const { can } = await at.client.read("/");
    assert.ok(Array.isArray(can) && can.includes("connect-as"));
  });

  test("is refused elsewhere", async () => {
    const production = { name: "t", version: "1", engine: "sqlite", development: false, docs: "" } as const;
    for (const more of [{}, { about: production, viewerToken: () => ({ token: "t", expiresAt: 1 }) }]) {
      await using at = await servedConsole({ kinds: [desk, lamp], store: memoryStore(), more });
      const { status, body } = await at.client.post("/viewer-tokens", viewer);
      assert.deepEqual([status, Object(body["error"]).code], [409, "NOT_AVAILABLE"]);
      assert.match(String(Object((await at.client.read("/"))["cannot"])["connect-as"]), /troupe dev/);
    }
  });
});

describe("a call", () => {
  test("is made as the operator, and its receipt names the event", async () => {
    await using at = await served();
    const { status, body } = await at.client.post(`${PATH}/call`, { offer: "tools/close" });
    assert.equal(status, 200);
    assert.deepEqual([body["reply"], Object(body["receipt"]).seq], [{ ok: "operator" }, 2]);
    const again = await at.client.post(`${PATH}/call`, { offer: "tools/close" });
    assert.deepEqual([Object(again.body["reply"]).refused.code, again.body["receipt"]], ["NOT_NOW", undefined]);
  });

  test("answers with what an MCP client would get, where that is wanted", async () => {
    await using at = await served();
    const result = async (body: object): Promise<unknown> =>
      (await at.client.post(`${PATH}/call`, { ...body, withResult: true })).body["result"];
    assert.deepEqual(await result({ offer: "tools/assign", arguments: { to: "ann" } }), { content: [{ type: "text", text: "ann" }] });
    assert.deepEqual(await result({ offer: "resources/all" }), {
      contents: [{ uri: "desk://all", mimeType: "application/json", text: '{"open":true}' }],
    });
    assert.deepEqual(await result({ offer: "tools/approve" }), {
      content: [{ type: "text", text: "Only managers may." }],
      isError: true,
    });
    assert.equal((await at.client.post(`${PATH}/call`, { offer: "tools/close" })).body["result"], undefined);
  });

  test("is made as any viewer in development, under the rule of all callers", async () => {
    await using at = await served();
    const as = async (offer: string, viewer: object, args = {}) =>
      Object((await at.client.post(`${PATH}/call`, { offer, arguments: args, as: viewer })).body["reply"]);
    assert.equal((await as("tools/approve", { principal: "bob", scopes: [] })).refused.code, "NOT_NOW");
    assert.deepEqual(await as("tools/approve", { principal: "bob", scopes: [], claims: { role: "manager" } }), { ok: "approved" });
    assert.equal((await as("tools/erase", { principal: "bob", scopes: [] })).refused.code, "SCOPE");
    assert.deepEqual(await as("tools/erase", { principal: "bob", scopes: ["admin"] }), { ok: "erased" });
    assert.equal((await as("tools/secretly", { principal: "bob", scopes: [] })).refused.code, "UNKNOWN");
    assert.equal((await as("tools/assign", { scopes: [] }, { to: "eve" })).refused.code, "INVALID");
    assert.deepEqual(await as("tools/lamp__switch", { scopes: [] }), { ok: true });
    assert.deepEqual(await as("resources/all", { scopes: [] }), { ok: { open: true } });
  });

  test("as another user is refused outside development, and wrong bodies always", async () => {
    await using at = await servedConsole({
      kinds: [desk, lamp],
      store: memoryStore(),
      more: { about: { name: "t", version: "1", engine: "sqlite", development: false, docs: "" } },
    });
    await at.engine.call({ to: desk.id("main"), action: "troupe/begin", args: null, start: null });
    const post = async (body: object) => (await at.client.post(`${PATH}/call`, body)).status;
    assert.equal(await post({ offer: "tools/close", as: { principal: "bob", scopes: [] } }), 409);
    assert.equal(await post({ offer: "close" }), 400);
    assert.equal(await post({ offer: "tools/close", arguments: [] }), 400);
    assert.equal(await post({ offer: "tools/close", key: 1 }), 400);
    assert.equal((await at.client.post("/actors/desk/none/call", { offer: "tools/close" })).status, 404);
  });

  test("ends in questions for a client that can ask, and goes on with its answers", async () => {
    const vase = actor("vase", {
      description: "A vase.",
      state: z.object({ whole: z.boolean().default(true) }),
      tools: { drop: { description: "Drop it.", confirm: "Drop it?", run: ({ state }) => (state.whole = false) } },
    });
    await using at = await servedConsole({ kinds: [vase], store: memoryStore() });
    await at.engine.call({ to: vase.id("one"), action: "troupe/begin", args: null, start: null });
    const call = async (answers: JsonObject): Promise<JsonObject> =>
      Object((await at.client.post("/actors/vase/one/call", { offer: "tools/drop", can: ["elicitation"], answers })).body["reply"]);
    assert.equal(Object((await call({}))["needs"]).confirm.params.message, "Drop it?");
    assert.equal(Object((await call({ confirm: { action: "decline" } }))["refused"]).code, "NOT_CONFIRMED");
    assert.deepEqual(await call({ confirm: { action: "accept", content: { confirm: true } } }), { ok: false });
  });

  test("with a key that was used gets the first reply again", async () => {
    await using at = await served();
    const first = await at.client.post(`${PATH}/call`, { offer: "tools/close", key: "k1" });
    const second = await at.client.post(`${PATH}/call`, { offer: "tools/close", key: "k1" });
    assert.deepEqual(second.body["reply"], first.body["reply"]);
  });
});
