// `troupe serve service.ts`: a foreign service over stdio and HTTP, to the official clients of both eras.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CLIENTS, connect, type Player } from "../clients.ts";
import { serveChild } from "../serve-child.ts";
import { eventually } from "../transport/settle.ts";

const MODULE = "test/agentic/hero.fixture.ts";
const ROOT = "mcp://agentic-service";

const count = (player: Player, method: string): number => player.heard.filter((one) => one.method === method).length;
const toolsOf = async (player: Player): Promise<readonly string[]> => (await player.tools()).map(({ name }) => name);

async function use(player: Player, era: "legacy" | "modern"): Promise<void> {
  const ALWAYS = ["move", "beg", "fall"];
  assert.deepEqual(await toolsOf(player), ["hurt", ...ALWAYS, "pet.feed"]);
  const resources = ["health", "picture", "log"].map((key) => `${ROOT}/state/${key}`);
  assert.deepEqual(await player.resources(), [...resources, `${ROOT}/pet/state/mood`]);
  assert.deepEqual(await player.templates(), [`${ROOT}/page/{page}`]);
  const HEALTH = `${ROOT}/state/health`;
  if (era === "modern") await player.listen({ toolsListChanged: true, resourceSubscriptions: [HEALTH] });
  else await player.subscribe(HEALTH);

  const silent = await player.call("pet.feed");
  assert.deepEqual([silent.text, silent.isError, silent.structured], ["", false, undefined], "nothing said: done");
  const moved = await player.call("move", { x: 1, y: 2 });
  assert.deepEqual([moved.structured, moved.isError], [{ x: 1, y: 2 }, false], "data is structured content");
  const begged = await player.call("beg");
  assert.deepEqual([begged.text, begged.isError], ["Nobody listens.", true], "text is an error");
  const fallen = await player.call("fall");
  assert.deepEqual([fallen.text, fallen.isError], ["There is no ground.", true], "a throw is an error with its message");
  const wrong = await player.call("hurt", { by: "much" });
  assert.equal(wrong.isError, true);
  assert.equal(await player.read(HEALTH), "100", "what did not fit its schema reached nobody");
  await assert.rejects(player.call("revive"), /Unknown tool/);

  assert.equal((await player.call("hurt", { by: 30 })).isError, false);
  assert.equal(await player.read(HEALTH), "70");
  assert.equal(JSON.parse(await player.read(`${ROOT}/pet/state/mood`)), "purring");
  await eventually(() => count(player, "notifications/resources/updated") === 1, `${player.name}: updated`);
  assert.equal(count(player, "notifications/tools/list_changed"), 0);
  assert.equal((await player.call("hurt", { by: 100 })).isError, false);
  await eventually(() => count(player, "notifications/tools/list_changed") === 1, `${player.name}: list_changed`);
  assert.deepEqual(await toolsOf(player), [...ALWAYS, "revive", "pet.feed"]);
  assert.equal((await player.call("revive")).isError, false);
  await eventually(() => count(player, "notifications/tools/list_changed") === 2, `${player.name}: list_changed again`);
  assert.deepEqual(await toolsOf(player), ["hurt", ...ALWAYS, "pet.feed"]);

  const index: unknown = JSON.parse(await player.read(`${ROOT}/state/log`));
  assert.ok(typeof index === "object" && index !== null && "pages" in index && Array.isArray(index.pages));
  const pages = await Promise.all(index.pages.map((page) => player.read(`${ROOT}/page/${encodeURIComponent(String(page))}`)));
  const lines: unknown = JSON.parse(pages.join(""));
  assert.ok(Array.isArray(lines) && lines.length === 9_000);
}

describe("troupe serve of an AgenticService", () => {
  for (const which of CLIENTS) {
    it(`over HTTP, to SDK ${which.sdk} of the ${which.era} era #agentic.serve #agentic.call.outcomes #agentic.call.throws #agentic.call.validated #agentic.states.resources #agentic.states.huge #agentic.gap.errors #agentic.gap.transport`, async () => {
      await using served = await serveChild([MODULE]);
      await using player = await connect({ http: served.ready.http ?? "" }, which);
      await use(player, which.era);
    });

    it(`over stdio, to SDK ${which.sdk} of the ${which.era} era #agentic.serve #agentic.call.outcomes #agentic.states.resources #agentic.gap.errors #agentic.gap.transport`, async () => {
      const data = mkdtempSync(join(tmpdir(), "troupe-service-"));
      try {
        await using player = await connect({ stdio: MODULE, data }, which);
        await use(player, which.era);
      } finally {
        rmSync(data, { recursive: true, force: true });
      }
    });
  }

  it("keeps dots alone, and has underscores under a prefix and with --names underscores", async () => {
    const inner = ["hurt", "move", "beg", "fall", "pet__feed"];
    const under = inner.map((name) => `one__${name}`);
    for (const [args, own] of [
      [[], ["hurt", "move", "beg", "fall", "pet.feed"]],
      [["--names", "underscores"], inner],
    ] as const) {
      await using served = await serveChild([MODULE, `one=${MODULE}`, ...args]);
      await using player = await connect({ http: served.ready.http ?? "" }, { sdk: "v1", era: "legacy" });
      assert.deepEqual(await toolsOf(player), [...own, ...under]);
      assert.equal((await player.call("one__pet__feed")).isError, false);
    }
  });
});
