// Different kinds of clients finish the quest: one that lists tools only once, one that opens a session for
// each call, an anonymous one.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ClientHands } from "../../examples/mud/play/play-as-client.ts";
import { connect, type Player, type Which } from "../clients.ts";
import { withHandle, playToEnding, folder, keep, textOf } from "../quest-client.ts";
import { serveChild } from "../serve-child.ts";
import { at } from "../wire.ts";

const MODERN: Which = { sdk: "v2", era: "modern" };
const V1: Which = { sdk: "v1", era: "legacy" };

const { module, world } = keep;

test("a client that lists tools only once finishes the quest at /mcp/meta, whose two tools are static", async () => {
  await using served = await serveChild([module]);
  assert.ok(served.ready.meta !== undefined);
  await using player = await connect({ http: served.ready.meta }, V1);
  const list = await player.tools();
  assert.deepEqual(
    list.map(({ name }) => name),
    ["actions", "act"],
  );
  const possible = async (): Promise<readonly unknown[]> => {
    const actions = at(JSON.parse((await player.call("actions")).text), "possible");
    assert.ok(Array.isArray(actions));
    return actions.map((one) => at(one, "action"));
  };
  const hands: ClientHands = {
    async call(tool, args) {
      assert.ok((await possible()).includes(tool), `${tool} is among the actions`);
      return textOf(await player.call("act", { action: tool, arguments: args }), tool);
    },
    read: (uri) => player.read(uri),
  };
  await playToEnding(world, hands, player.name);
  assert.deepEqual(await player.tools(), list);
  assert.deepEqual(
    player.heard.filter(({ method }) => method === "notifications/tools/list_changed"),
    [],
  );
});

test("a client with a session per call finishes the quest, since its key identifies the player #spec.1.independent", async () => {
  using place = folder();
  const key = "k3y-of-ada-which-is-long-enough";
  const file = join(place.path, "keys.json");
  writeFileSync(file, JSON.stringify({ ada: createHash("sha256").update(key).digest("hex") }));
  await using served = await serveChild([module, "--api-keys", file]);
  assert.ok(served.ready.http !== undefined);
  const way = { http: served.ready.http };
  const once = async <T>(use: (player: Player) => Promise<T>): Promise<T> => {
    await using player = await connect(way, V1, { headers: { authorization: `Bearer ${key}` } });
    return await use(player);
  };
  const hands: ClientHands = {
    call: (tool, args) => once(async (player) => textOf(await player.call(tool, args), tool)),
    read: (uri) => once((player) => player.read(uri)),
  };
  await playToEnding(world, hands, "a session for each call");
});

test("an anonymous client of 2026-07-28 finishes the quest with its first, static list #mud.handles #spec.6.tools.understanding", async () => {
  await using served = await serveChild([module]);
  assert.ok(served.ready.http !== undefined);
  await using player = await connect({ http: served.ready.http }, MODERN);
  const list = await player.tools();
  const hands = await withHandle(player);
  const known: ClientHands = {
    call(tool, args) {
      assert.ok(
        list.some(({ name }) => name === tool),
        `${tool} is in the list`,
      );
      return hands.call(tool, args);
    },
    read: (uri) => hands.read(uri),
  };
  await playToEnding(world, known, player.name);
  assert.deepEqual(await player.tools(), list);
});

test("a client of 2026-07-28 gets a tool error with the reason if something is impossible now", async () => {
  await using served = await serveChild([module]);
  assert.ok(served.ready.http !== undefined);
  await using player = await connect({ http: served.ready.http }, MODERN);
  const handle = at((await player.call("start_player")).structured, "handle");
  const battle = await player.call("battle", { handle });
  assert.deepEqual([battle.isError, battle.text], [true, "No enemies here"]);
  const quest = await player.call("accept_quest", { handle });
  assert.deepEqual([quest.isError, quest.text], [true, "There is no quest on offer here."]);
});
