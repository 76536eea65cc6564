// A service served with options, to the official clients of both eras.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CLIENTS, connect, type ElicitAnswer } from "../clients.ts";
import { root, serveChild } from "../serve-child.ts";

describe("an AgenticService with options", () => {
  for (const which of CLIENTS) {
    it(`is confirmed, described and read by tools, by SDK ${which.sdk} of the ${which.era} era #agentic.actions.options #agentic.states.tool #agentic.links.list`, async () => {
      await using served = await serveChild(["test/agentic/notes.fixture.ts"]);
      const asked: string[] = [];
      let say: ElicitAnswer = { action: "decline" };
      const elicit = (message: string): ElicitAnswer => {
        asked.push(message);
        return say;
      };
      await using player = await connect({ http: served.ready.http ?? "" }, which, { elicit });
      const tools = await player.tools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["get_state", "list_links", "add", "wipe"],
      );
      assert.deepEqual(tools.find(({ name }) => name === "wipe")?.annotations, { destructiveHint: true });
      assert.deepEqual(await player.resources(), ["mcp://notes/links"]);
      assert.deepEqual((await player.call("add", { text: "eggs" })).structured, { changed: { notes: ["milk", "eggs"], count: 2 } });
      const declined = await player.call("wipe");
      assert.deepEqual([declined.isError, declined.text], [true, "Not confirmed."]);
      assert.deepEqual((await player.call("get_state", { keys: ["count"] })).structured, { count: 2 });
      say = { action: "accept", content: { confirm: true } };
      assert.deepEqual((await player.call("wipe")).structured, { changed: { notes: [], count: 0 } });
      assert.deepEqual(asked, ["Forget all notes?", "Forget all notes?"]);
      await assert.rejects(player.call("wipe"), /Unknown tool/);
      await assert.rejects(player.call("debug"), /Unknown tool/);
      assert.deepEqual(JSON.parse(await player.read("mcp://notes/links")), [{ key: "archive", description: "What was noted before." }]);
      assert.match((await player.call("list_links")).text, /What was noted before/);
    });
  }
});

it("what serves a service uses nothing that only Node has", () => {
  const files = globSync("src/bridges/agentic/*.ts", { cwd: root }).filter((file) => !/\.(test|fixture)\.ts$/.test(file));
  assert.ok(files.length > 15);
  const bad = files.filter((file) =>
    /["']node:|\bBuffer\b|\bprocess\.|\bsetImmediate\b|\brequire\(/.test(readFileSync(join(root, file), "utf8").replaceAll(/\/\/.*/g, "")),
  );
  assert.deepEqual(bad, []);
});
