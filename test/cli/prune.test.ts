// Actors that ended long ago are taken away: beside a running server, and where none runs.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { actor } from "troupe/actor";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { SimulatedClock } from "troupe/testing";
import { isJsonObject } from "../wire.ts";
import { lines, runningIn, troupe } from "./run.ts";

const DAY = 86_400_000;

const cup = (kind: string): ReturnType<typeof actor> =>
  actor(kind, {
    description: "A cup.",
    initial: () => ({ n: 0 }),
    tools: { fill: { description: "Fill it.", run: ({ state }) => void (state.n += 1) } },
  });

describe("troupe prune", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-prune-"));
  const data = join(folder, "data");
  const module = join(folder, "cups.ts");
  const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);
  const rows = (text: string): readonly Readonly<Record<string, unknown>>[] => lines(text).filter(isJsonObject);
  const listed = async (...args: readonly string[]): Promise<readonly unknown[]> =>
    rows((await on("actors", "--json", ...args)).stdout).map(({ id }) => id);

  before(async () => {
    writeFileSync(
      module,
      `import { actor } from "troupe";
       const cup = (kind) => actor(kind, { description: "A cup.", initial: () => ({ n: 0 }), tools: { ["fill_" + kind]: { description: "Fill it.", run: ({ state }) => void (state.n += 1) } } });
       export const clay = cup("clay"), glass = cup("glass");`,
    );
    const clock = new SimulatedClock(Date.now() - 100 * DAY);
    await using store = sqliteStore({ directory: data, clock });
    await using engine = await LocalEngine.start({ kinds: [cup("clay"), cup("glass")], store, clock });
    const ids = ["clay/old", "clay/newer", "clay/lives", "glass/old"] as const;
    for (const to of ids) for (let n = 0; n < 3; n += 1) await engine.call({ to, action: "tools/fill", args: {}, start: null });
    await engine.stop("clay/old", "over");
    await engine.stop("glass/old", "over");
    await clock.advance(80 * DAY);
    await engine.stop("clay/newer", "over");
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("--dry-run lists what would go, by when it ended, and takes nothing", async () => {
    const some = rows((await on("prune", "--ended-before", "30d", "--dry-run", "--json")).stdout);
    assert.deepEqual(
      some.map(({ id, seq, pruned }) => [id, seq, pruned]),
      [
        ["clay/old", 4, false],
        ["glass/old", 4, false],
      ],
    );
    const told = await on("prune", "--ended-before", "10d", "--dry-run", "--kind", "clay");
    assert.match(told.stdout, /actor +events +ended\nclay\/old +4 +20\d\d-.*\nclay\/newer +4 +20.*\n2 actors with 8 events would go\.\n$/);
    assert.equal((await listed()).length, 4);
    const day = new Date(Date.now() - 99 * DAY).toISOString().slice(0, 10);
    assert.match((await on("prune", "--ended-before", day, "--dry-run")).stdout, /2 actors with 8 events would go/);
  });

  test("a time that is none, or none at all, is refused with what it may be", async () => {
    for (const wrong of ["yesterday", "30", "2026-13-41", "-5d"]) {
      const { code, stderr } = await on("prune", "--ended-before", wrong);
      assert.equal(code, 2, wrong);
      assert.match(stderr, /an age \(30d, 12h, 90m\)/);
    }
    const { code, stderr } = await on("prune");
    assert.equal(code, 2);
    assert.match(stderr, /--ended-before/);
    assert.equal((await troupe("prune", "--ended-before", "30d", "--data", join(folder, "nothing"))).code, 4);
  });

  test("where no server runs, the command takes them away by itself, without their module", async () => {
    const copy = join(folder, "copy");
    cpSync(data, copy, { recursive: true });
    const ran = await troupe("prune", "--ended-before", "10d", "--data", copy);
    assert.deepEqual([ran.code, ran.stdout], [0, "3 actors with 12 events are gone.\n"]);
    assert.deepEqual(
      rows((await troupe("actors", "--json", "--data", copy)).stdout).map(({ id }) => id),
      ["clay/lives"],
    );
    assert.match((await troupe("verify", "--data", copy)).stdout, /^1 actor, 3 events, 0 broken\.\n$/);
    assert.equal((await troupe("prune", "--ended-before", "10d", "--data", copy)).stdout, "No actor that ended before then is left.\n");
  });

  test("what ended within a day stays, and who asks for it is told so", async () => {
    const copy = join(folder, "young");
    cpSync(data, copy, { recursive: true });
    assert.equal((await troupe("stop", "clay/lives", "--module", module, "--data", copy)).code, 0);
    const told = (await troupe("prune", "--ended-before", "0m", "--data", copy)).stdout;
    assert.equal(told, "3 actors with 12 events are gone. What ended less than 24 hours ago stays.\n");
  });

  test("beside a running server, which goes on, and takes the name for another", async () => {
    await using server = runningIn({}, "serve", module, "--data", data, "--http", "127.0.0.1:0", "--json");
    await server.said(/"http"/);
    await on("call", "clay/lives", "tools/fill_clay");
    const pruned = rows((await on("prune", "--ended-before", "30d", "--json")).stdout);
    assert.deepEqual(
      pruned.map(({ id, pruned: gone }) => [id, gone]),
      [
        ["clay/old", true],
        ["glass/old", true],
      ],
    );
    assert.deepEqual(await listed(), ["clay/lives", "clay/newer"]);
    assert.equal((await on("call", "clay/old", "tools/fill_clay")).code, 4);
    assert.equal((await on("call", "clay/old", "tools/fill_clay", "--start")).code, 0);
    assert.match((await on("verify")).stdout, /^3 actors, 9 events, 0 broken\.\n$/);
  });
});

test("prune says that it is not available on a cluster", async () => {
  const { code, stderr } = await troupe("prune", "--ended-before", "30d", "--engine", "restate://127.0.0.1");
  assert.equal(code, 2);
  assert.match(stderr, /not available on a cluster/u);
});
