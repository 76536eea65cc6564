// examples/door: the available tools depend on the door's state, which each kind of client sees in its own way.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CLIENTS, connect, type Player, type Which } from "../clients.ts";
import { folder } from "../quest-client.ts";
import { type Served, serveChild } from "../serve-child.ts";
import { eventually } from "../transport/settle.ts";
import { at } from "../wire.ts";

const names = async (player: Player): Promise<readonly string[]> => (await player.tools()).map(({ name }) => name);
const MODERN: Which = { sdk: "v2", era: "modern" };

let served: Served;
before(async () => {
  served = await serveChild(["examples/door", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
});
after(() => served[Symbol.asyncDispose]());

describe("a user's own door", () => {
  for (const which of CLIENTS.filter(({ era }) => era === "legacy"))
    test(`changes its list, which is notified before the reply on one stream: SDK ${which.sdk} #sources.list-mode.dynamic`, async () => {
      await using player = await connect({ tcp: String(served.ready.tcp) }, which);
      assert.deepEqual(await names(player), ["open", "unlock", "look"]);
      const locked = await player.call("open");
      assert.deepEqual([locked.isError, locked.text, at(locked.meta, "troupe/refused", "code")], [true, "It is locked.", "REFUSED"]);
      assert.equal(player.heard.length, 0);
      assert.equal((await player.call("unlock")).text, "Click.");
      await eventually(() => player.heard.length > 0);
      assert.deepEqual(await names(player), ["open", "look"]);
      assert.equal((await player.call("open")).text, "It creaks open.");
      assert.deepEqual(await names(player), ["close", "look"]);
      const again = await player.call("open");
      assert.deepEqual([again.isError, again.text, at(again.meta, "troupe/refused", "code")], [true, "It is already open.", "NOT_NOW"]);
      const changes = player.heard.filter(({ method }) => method === "notifications/tools/list_changed").length;
      assert.equal(changes, 2);
      assert.deepEqual(
        player.frames.map((frame) => at(frame, "method") ?? "reply").filter((method) => method !== "reply").length,
        player.heard.length,
      );
    });

  test("needs a handle for an anonymous 2026-07-28 client, whose list is static; refusals have reasons #sources.list-mode.static", async () => {
    await using player = await connect({ http: String(served.ready.http) }, MODERN);
    const list = await player.tools();
    assert.deepEqual(
      list.map(({ name }) => name),
      ["start_door", "end_door", "open", "unlock", "close", "look"],
    );
    const started = await player.call("start_door");
    const handle = at(started.structured, "handle");
    assert.deepEqual(
      [(await player.call("close", { handle })).isError, (await player.call("close", { handle })).text],
      [true, "It is not open."],
    );
    for (const tool of ["unlock", "open", "close", "open"]) assert.equal((await player.call(tool, { handle })).isError, false, tool);
    assert.equal((await player.call("look", { handle })).text, "Open.");
    assert.deepEqual(await player.tools(), list);
    const [template] = await player.templates();
    const read = await player.read(String(template).replace("{handle}", String(handle)));
    assert.deepEqual(JSON.parse(read), { open: true, locked: false });
    assert.equal((await player.call("end_door", { handle })).isError, false);
    const ended = await player.call("look", { handle });
    assert.equal(ended.isError, true);
    assert.match(ended.text, /start_door/);
    const missing = await player.call("look");
    assert.equal(missing.isError, true);
    assert.match(missing.text, /handle/);
  });

  test("reports at /mcp/meta what is possible now, and why the rest is not #sources.list-mode.meta", async () => {
    await using player = await connect({ http: String(served.ready.meta) }, { sdk: "v1", era: "legacy" });
    const actions = async (): Promise<unknown> => JSON.parse((await player.call("actions")).text);
    assert.deepEqual(at(await actions(), "impossible"), [{ action: "close", why: "It is not open." }]);
    assert.equal((await player.call("act", { action: "unlock" })).text, "Click.");
    assert.deepEqual(at(await actions(), "impossible"), [
      { action: "unlock", why: "It is not locked." },
      { action: "close", why: "It is not open." },
    ]);
    const nothing = await player.call("act", { action: "fly" });
    assert.equal(nothing.isError, true);
    assert.match(nothing.text, /actions/);
  });

  test("is the same door for the local client in each era and after a restart", async () => {
    using place = folder();
    const steps = [
      ["unlock", "Click."],
      ["open", "It creaks open."],
      ["close", "It falls shut."],
    ] as const;
    for (const [index, which] of CLIENTS.entries()) {
      await using player = await connect({ stdio: "examples/door", data: place.path }, which);
      const [tool, answer] = steps[index] ?? ["look", ""];
      assert.equal((await player.call(tool)).text, answer);
    }
  });
});
