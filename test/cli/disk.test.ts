// The way to keep the disk small that docs/guide/backup.md gives, run as it is written there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { actor } from "troupe";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { root } from "../serve-child.ts";
import { lines, troupe } from "./run.ts";

const section = readFileSync(join(root, "docs/guide/backup.md"), "utf8").split("## Keep the disk small")[1]?.split("\n## ")[0] ?? "";
const [erase = "", pack = ""] = Array.from(section.matchAll(/```sh\n([\s\S]*?)```/g), ([, script = ""]) => script);

const TURNS = 1_000;

test("the command lines of the guide give a store's disk back, and leave every state and chain whole", async () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-disk-"));
  const sh = (script: string): string =>
    execFileSync(
      "sh",
      ["-euc", `troupe() { "$0" bin/troupe.js "$@"; }; node() { "$0" "$@"; }; ${script.replaceAll("data/mine", data)}`, process.execPath],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
  try {
    // As examples/counter-disk names it, with something to forget.
    const counter = actor("counter", {
      description: "Counts.",
      initial: () => ({ count: 0 }),
      messages: { add: { run: ({ state }) => void (state.count += 1) } },
    });
    {
      await using store = sqliteStore({ directory: data });
      await using engine = await LocalEngine.start({ kinds: [counter], store });
      const args = { words: "x".repeat(1_000) };
      for (const key of ["main", "ann & bob"]) {
        const to = counter.id(key);
        await Promise.all(Array.from({ length: TURNS }, () => engine.call({ to, action: "add", args, start: null })));
      }
      await engine.stop(counter.id("ann & bob"), "done");
    }
    const size = (): number => statSync(join(data, "troupe.db")).size;
    const before = size();
    assert.ok(before > 2 * TURNS * 1_000);
    sh(erase.replaceAll("--erase", "--erase --module examples/counter-disk"));
    sh(pack);
    assert.ok(size() < 2 * TURNS * 500, `${before} bytes before, ${size()} after`);
    const [state] = lines((await troupe("state", "counter/main", "--json", "--data", data)).stdout);
    assert.deepEqual(state !== null && typeof state === "object" && "state" in state && state.state, { count: TURNS });
    for (const [key, erased] of [
      ["main", TURNS],
      // And the event of its end.
      ["ann & bob", TURNS + 1],
    ] as const) {
      const verified = await troupe("verify", counter.id(key), "--data", data);
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
      assert.match(verified.stdout, new RegExp(`, ${erased} bodies erased`));
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});
