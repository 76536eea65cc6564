// The same dungeon served by `troupe serve` from what the example exports.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { packetClient } from "../../src/bridges/packet/index.ts";
import { runningIn, troupe } from "../cli/run.ts";
import { CLIENTS, connect } from "../clients.ts";
import { bearer, keyOf, writeKeys } from "../packet/api-keys.ts";
import { messageBytes, base64, within } from "./running-example.ts";

const [V1, , MODERN] = CLIENTS;

void test("troupe serve exposes one player at /mcp, as packets and at /theater, alongside a guest #whole.command", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-all-"));
  const data = join(directory.path, "data");
  const keys = writeKeys(join(directory.path, "keys.json"), { ada: ["troupe:operate"] });
  const doors = ["--http", "127.0.0.1:0", "--packets", "127.0.0.1:0", "--theater", "--theater-tcp", "127.0.0.1:0"];
  const more = ["--manifests", "examples/wasm", "--api-keys", keys, "--data", data, "--json", "--log", "error"];
  {
    await using running = runningIn({}, "serve", "examples/all", ...doors, ...more);
    await running.said(/"ready":true.*\n/);
    const ready: unknown = JSON.parse(running.out().split("\n")[0] ?? "");
    const url = (door: string): string => String(Reflect.get(Object(ready), door));
    await using play = await connect({ http: url("http") }, V1, { headers: bearer("ada") });
    await using stage = await connect({ http: url("theater") }, MODERN, { headers: bearer("ada") });
    using packets = packetClient(url("packets"), { token: keyOf("ada") });

    assert.match((await play.call("move", { direction: "north" })).text, /You go north/);
    assert.match(JSON.stringify(await packets.request("player", { tool: "move", direction: "east" })), /You go east/);
    const request = { actor_id: "player/ada", data: base64(messageBytes("move", { direction: "west" })) };
    assert.match((await stage.call("request_message", request)).text, /You go west/);
    assert.match((await play.call("walk", { direction: "east" })).text, /You go east/);
    const { structured } = await stage.call("get_actor", { actor_id: "player/ada" });
    assert.deepEqual(
      [within(JSON.parse(await play.read("game://room/current")), "id"), within(structured, "state.room")],
      ["chamber", "chamber"],
    );
    assert.match((await play.call("signpost", { room: "hallway" })).text, /south, east/);
    assert.equal((await stage.call("start_actor", { manifest: "counter/counter.toml", name: "counter" })).isError, false);
  }
  const verified = await troupe("verify", "--data", data);
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stdout, /\d+ actors, \d+ events, 0 broken/);
  const chain = await troupe("chain", "player/ada", "--data", data);
  assert.equal(chain.stdout.match(/ {2}arrived {2}/g)?.length, 4);
});
