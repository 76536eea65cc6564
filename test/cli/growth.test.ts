// What grows in a data directory, told by actor and by kind.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { actor } from "troupe/actor";
import { sqliteStore } from "troupe/store";
import { isJsonObject } from "../wire.ts";
import { lines, troupe } from "./run.ts";

const shelf = (kind: string): ReturnType<typeof actor> =>
  actor(kind, {
    description: "A shelf.",
    initial: () => ({ books: 0 }),
    tools: {
      put: {
        description: "Put a book there.",
        input: { type: "object", properties: { title: { type: "string" } } },
        run({ state }) {
          state.books += 1;
        },
      },
    },
  });

describe("what grows", () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-growth-"));
  const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe("actors", ...args, "--data", data);
  const rows = async (...args: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    lines((await on(...args, "--json")).stdout).filter(isJsonObject);

  before(async () => {
    await using store = sqliteStore({ directory: data });
    await using engine = await LocalEngine.start({ kinds: [shelf("oak"), shelf("pine")], store });
    for (const [to, turns, title] of [
      ["oak/a", 2, "x".repeat(10_000)],
      ["oak/b", 5, "x"],
      ["pine/a", 9, "x"],
    ] as const)
      for (let turn = 0; turn < turns; turn += 1) await engine.call({ to, action: "tools/put", args: { title }, start: null });
  });
  after(() => rmSync(data, { recursive: true, force: true }));

  test("by events, most first, and no more than asked for", async () => {
    assert.deepEqual(
      (await rows("--sort", "events", "--limit", "2")).map(({ id, seq }) => [id, seq]),
      [
        ["pine/a", 9],
        ["oak/b", 5],
      ],
    );
    assert.match((await on("--sort", "events")).stdout, /pine\/a[^]*oak\/b[^]*oak\/a/);
  });

  test("by the bytes of what is kept, where it is asked to read it all", async () => {
    const [first, ...others] = await rows("--sort", "bytes");
    assert.equal(first?.["id"], "oak/a");
    const { bytes } = first;
    assert.ok(typeof bytes === "number" && bytes > 20_000 && bytes < 30_000, String(bytes));
    assert.ok(others.every((row) => typeof row["bytes"] === "number" && row["bytes"] < bytes));
    assert.match((await on("--bytes")).stdout, /actor +events +bytes +status[^]*oak\/a +2 +2\d,\d{3} +live/);
    assert.equal((await rows())[0]?.["bytes"], undefined, "nothing is read unasked");
  });

  test("by kind, with the size of the files", async () => {
    const [oak, pine, files, ...more] = await rows("--by-kind");
    assert.deepEqual(oak, { kind: "oak", actors: 2, events: 7 });
    assert.deepEqual(pine, { kind: "pine", actors: 1, events: 9 });
    assert.deepEqual(files, { directory: data, files: { "troupe.db": statSync(join(data, "troupe.db")).size } });
    assert.deepEqual(more, []);
    const others = ["content.db", "search.db", "search.db-wal", "theater-sessions.db"];
    for (const name of others) writeFileSync(join(data, name), "x".repeat(10));
    const withOthers = Object((await rows("--by-kind")).at(-1));
    for (const name of others) {
      assert.equal(withOthers.files[name], 10, name);
      rmSync(join(data, name));
    }
    assert.deepEqual(
      (await rows("--by-kind", "--sort", "bytes")).map(({ kind }) => kind),
      ["oak", "pine", undefined],
    );
    const told = await on("--by-kind", "--sort", "events");
    assert.match(told.stdout, /kind +actors +events\npine +1 +9\noak +2 +7\n/);
    assert.match(told.stderr, /troupe\.db \d[\d,]* bytes/);
  });

  test("a state tells its size", async () => {
    const [state] = lines((await troupe("state", "oak/a", "--data", data, "--json")).stdout);
    assert.ok(isJsonObject(state));
    assert.equal(state["stateBytes"], '{"books":2}'.length);
  });
});
