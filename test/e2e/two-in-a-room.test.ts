// Which client is notified of what, and when: two clients in one room, one elsewhere, and the order on one stream.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { connect, type Player, type Which } from "../clients.ts";
import { startMud } from "../mud-server.ts";
import { folder } from "../quest-client.ts";
import { serveChild } from "../serve-child.ts";
import { eventually } from "../transport/settle.ts";
import { at, envelope, isJsonObject, lineClient } from "../wire.ts";

const V1: Which = { sdk: "v1", era: "legacy" };
const V2: Which = { sdk: "v2", era: "legacy" };
const MODERN: Which = { sdk: "v2", era: "modern" };
const ROOM = "game://room/current";
const TOOLS_CHANGED = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";

const methods = (player: Player): readonly string[] => player.heard.map(({ method }) => method);
const updates = (player: Player): readonly unknown[] =>
  player.heard.filter(({ method }) => method === UPDATED).map(({ params }) => params["uri"]);
const does = async (player: Player, tool: string, args: Record<string, unknown> = {}): Promise<void> => {
  const { isError, text } = await player.call(tool, args);
  assert.equal(isError, false, `${player.name}, ${tool}: ${text}`);
};

const methodOf = (frame: unknown): string => {
  const method = at(frame, "method");
  return typeof method === "string" ? method : "reply";
};

const handleOf = async (player: Player): Promise<string> => String(at((await player.call("start_player")).structured, "handle"));

describe("two clients in one room, and one elsewhere", () => {
  test("if one takes the torch, the other's room and tools change, and a client elsewhere is not notified #gateway.resources.subscribe #mud.list-changed #spec.5.tools.notify #spec.5.resources.room #spec.5.resources.notify #spec.8.notifications", async () => {
    await using served = await serveChild(["examples/mud", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    const { http, tcp } = served.ready;
    assert.ok(http !== undefined && tcp !== undefined);
    await using ada = await connect({ http }, V1);
    await using bob = await connect({ tcp }, V2);
    await using cid = await connect({ http }, V2);
    for (const player of [ada, bob, cid]) await does(player, "say", { text: "hello" });
    await does(cid, "move", { direction: "north" });
    for (const player of [ada, bob, cid]) {
      await player.tools();
      await player.subscribe(ROOM);
    }
    // All streams are open once each client has received a notification.
    const pickUp = async (player: Player, item: string): Promise<void> => {
      const before = player.heard.length;
      await does(player, "pick_up", { item });
      await eventually(
        () =>
          player.heard.slice(before).some(({ method }) => method === TOOLS_CHANGED) &&
          player.heard.slice(before).some(({ method }) => method === UPDATED),
      );
    };
    await pickUp(cid, "leather_pouch");
    // Arrivals and departures change the room resource; speech does not.
    await does(cid, "move", { direction: "south" });
    await eventually(() => updates(ada).length > 0, "ada's stream is open");
    await does(cid, "move", { direction: "north" });
    await eventually(() => updates(ada).length > 1, "ada sees cid leave");
    await cid.call("look");
    const [heardByBob, heardByCid] = [bob.heard.length, cid.heard.length];
    assert.deepEqual(
      at(
        (await bob.tools()).find(({ name }) => name === "pick_up"),
        "inputSchema",
        "properties",
        "item",
        "enum",
      ),
      ["torch"],
    );

    await does(ada, "pick_up", { item: "torch" });
    await eventually(() => methods(bob).slice(heardByBob).includes(TOOLS_CHANGED) && updates(bob).length > 0, "bob is notified");
    assert.equal(
      (await bob.tools()).find(({ name }) => name === "pick_up"),
      undefined,
    );
    assert.doesNotMatch(await bob.read(ROOM), /"torch"/);

    // Pending notifications to cid arrive before the reply to cid's next call.
    await does(cid, "drop", { item: "leather_pouch" });
    await eventually(() => methods(cid).slice(heardByCid).includes(TOOLS_CHANGED), "cid's own change");
    const received = methods(bob).slice(heardByBob);
    assert.equal(received.filter((method) => method === TOOLS_CHANGED).length, 1, "bob's list changed once");
    assert.deepEqual(new Set(received), new Set([TOOLS_CHANGED, UPDATED]));
    assert.deepEqual(new Set(updates(bob)), new Set([ROOM]));
    assert.equal(
      methods(cid)
        .slice(heardByCid)
        .filter((method) => method === TOOLS_CHANGED).length,
      1,
      "cid heard of its own act alone",
    );
  });

  test("in 2026-07-28 a named listener is notified of lists and rooms, an anonymous one of its handle's room", async () => {
    using place = folder();
    const keys = { ada: "a-key-of-ada-that-is-long", bob: "a-key-of-bob-that-is-long" };
    const file = join(place.path, "keys.json");
    writeFileSync(
      file,
      JSON.stringify(Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, createHash("sha256").update(key).digest("hex")]))),
    );
    await using served = await serveChild(["examples/mud", "--api-keys", file, "--lists", "dynamic"], { data: join(place.path, "data") });
    const { http } = served.ready;
    assert.ok(http !== undefined);
    await using ada = await connect({ http }, MODERN, { headers: { authorization: `Bearer ${keys.ada}` } });
    await using bob = await connect({ http }, MODERN, { headers: { authorization: `Bearer ${keys.bob}` } });
    await does(ada, "say", { text: "hello" });
    await does(bob, "say", { text: "hello" });
    await bob.tools();
    const filter = { toolsListChanged: true, resourceSubscriptions: [ROOM, "game://unknown/state"] };
    assert.deepEqual(await bob.listen(filter), { toolsListChanged: true, resourceSubscriptions: [ROOM] });
    await does(ada, "pick_up", { item: "torch" });
    await eventually(() => methods(bob).includes(TOOLS_CHANGED) && updates(bob).includes(ROOM), "bob is notified");
    assert.equal(
      (await bob.tools()).find(({ name }) => name === "pick_up"),
      undefined,
    );
  });

  test("in 2026-07-28 an anonymous client can listen only to its handle's room #mud.handles #spec.6.privacy.access", async () => {
    await using served = await serveChild(["examples/mud"]);
    const { http } = served.ready;
    assert.ok(http !== undefined);
    await using ada = await connect({ http }, MODERN);
    await using bob = await connect({ http }, MODERN);
    const [hers, his] = [await handleOf(ada), await handleOf(bob)];
    await does(ada, "say", { text: "hello", handle: hers });
    await does(bob, "say", { text: "hello", handle: his });
    const room = `game://${his}/room/current`;
    assert.deepEqual(await bob.listen({ toolsListChanged: true, resourceSubscriptions: [room, "game://h_0000/room/current"] }), {
      toolsListChanged: true,
      resourceSubscriptions: [room],
    });
    await does(ada, "pick_up", { item: "torch", handle: hers });
    await eventually(() => updates(bob).length > 0, "bob is notified");
    assert.deepEqual(new Set(updates(bob)), new Set([room]));
    assert.deepEqual(
      methods(bob).filter((method) => method === TOOLS_CHANGED),
      [],
      "what is listed without a name never changes",
    );
  });

  test("of two clients of one player, each is notified of what the other does #mud.two-clients #spec.5.resources.notify", async () => {
    await using mud = await startMud();
    await using desk = await mud.enter("test|ada");
    await using phone = await mud.enter("test|ada");
    await phone.request("tools/list");
    await phone.request("resources/subscribe", { uri: "game://player/state" });
    await desk.call("pick_up", { item: "torch" });
    await mud.quiet();
    assert.equal(phone.heard.filter((method) => method === TOOLS_CHANGED).length, 1);
    assert.ok(phone.heard.includes(UPDATED));
    assert.deepEqual(at(await phone.read("game://player/state"), "inventory"), ["torch"]);
  });
});

describe("C8 the order on one stream", () => {
  test("changes of a call are notified before its reply #spec.5.prompts.notify #spec.5.notification.prompts", async () => {
    await using served = await serveChild(["examples/mud", "--tcp", "127.0.0.1:0"]);
    await using ada = await lineClient(String(served.ready.tcp));
    await ada.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "wire", version: "1" } });
    ada.say({ jsonrpc: "2.0", method: "notifications/initialized" });
    await ada.request("tools/list");
    await ada.request("prompts/list");
    await ada.request("resources/subscribe", { uri: "game://player/state" });
    const acts: readonly (readonly [string, object, readonly string[]])[] = [
      ["pick_up", { item: "torch" }, [TOOLS_CHANGED, UPDATED]],
      ["move", { direction: "north" }, [TOOLS_CHANGED, "notifications/prompts/list_changed", UPDATED]],
      ["accept_quest", {}, [TOOLS_CHANGED, UPDATED]],
      ["drop", { item: "torch" }, [TOOLS_CHANGED, UPDATED]],
    ];
    for (const [name, args, expected] of acts) {
      const before = ada.frames.length;
      await ada.request("tools/call", { name, arguments: args });
      const came = ada.frames.slice(before).map(methodOf);
      assert.equal(came.at(-1), "reply", `${name}: the reply is the last`);
      for (const method of expected) assert.ok(came.includes(method), `${name}: ${method} came before the reply, of ${came.join(", ")}`);
    }
  });

  test("changes of a call are notified before its reply to a listener of 2026-07-28 on the same stream", async () => {
    await using mud = await startMud({ gateway: { listMode: { modern: "dynamic" } } });
    await using ada = mud.modern("test|ada");
    await ada.call("say", { text: "hello" });
    ada.say({
      jsonrpc: "2.0",
      id: "listening",
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: ["game://player/state"] }, _meta: envelope() },
    });
    await ada.until((frame) => methodOf(frame) === "notifications/subscriptions/acknowledged");
    const before = ada.frames.length;
    await ada.call("pick_up", { item: "torch" });
    const came = ada.frames.slice(before);
    assert.equal(methodOf(came.at(-1)), "reply");
    assert.ok(came.map(methodOf).includes(TOOLS_CHANGED) && came.map(methodOf).includes(UPDATED), came.map(methodOf).join(", "));
    for (const frame of came.slice(0, -1))
      assert.equal(at(frame, "params", "_meta", "io.modelcontextprotocol/subscriptionId"), "listening");
  });

  test("nothing precedes the reply to initialize, and nothing but replies comes before notifications/initialized", async () => {
    await using served = await serveChild(["examples/mud", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    const { http, tcp } = served.ready;
    assert.ok(http !== undefined && tcp !== undefined);
    await using ada = await connect({ http }, V1);
    const busy = new AbortController();
    const acting = (async () => {
      while (!busy.signal.aborted) {
        await ada.call("pick_up", { item: "torch" });
        await ada.call("drop", { item: "torch" });
      }
    })();
    for (let round = 0; round < 8; round += 1) {
      await using bob = await lineClient(tcp);
      const initialize = bob.request("initialize", {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "wire", version: "1" },
      });
      const listed = bob.request("tools/list");
      const subscribed = bob.request("resources/subscribe", { uri: ROOM });
      await Promise.all([initialize, listed, subscribed]);
      for (let ping = 0; ping < 5; ping += 1) await bob.request("ping");
      assert.ok(isJsonObject(at(bob.frames[0], "result", "capabilities")), "the first message is the reply to initialize");
      assert.deepEqual(new Set(bob.frames.map(methodOf)), new Set(["reply"]));
      bob.say({ jsonrpc: "2.0", method: "notifications/initialized" });
      await bob.until((frame) => methodOf(frame) !== "reply");
    }
    busy.abort();
    await acting;
  });
});
