// What each command prints with --json has the members that the guide says, and no other.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sqliteStore } from "troupe/store";
import { ChainWriter, messageTo } from "troupe/conformance";
import { root } from "../serve-child.ts";
import { isJsonObject } from "../wire.ts";
import { lines, running, troupe } from "./run.ts";

const namesIn = (text = ""): readonly string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);

/** Command → the members of its lines. */
const told = (): ReadonlyMap<string, readonly string[]> => {
  const [, table = ""] = readFileSync(join(root, "docs/guide/inspect.md"), "utf8").split("| command | members of a line |\n|---|---|\n");
  const rows = (table.split("\n\n")[0] ?? "").split("\n").map((row) => row.split("|"));
  return new Map(
    rows.flatMap(([, commands, members]) => {
      const names = namesIn(members).filter((name) => !name.startsWith("--"));
      return namesIn(commands).map((command): [string, readonly string[]] => [command, names.toSorted()]);
    }),
  );
};

/** Of `forked`, `checkpoint` and `reverted`, what is in them too. */
const membersOf = (line: unknown): readonly string[] => {
  assert.ok(isJsonObject(line));
  return Object.entries(line).flatMap(([name, value]) =>
    ["forked", "checkpoint", "reverted", "edited"].includes(name) && isJsonObject(value) ? [name, ...Object.keys(value)] : [name],
  );
};

test("every command's line has the members that the guide tells", async () => {
  const data = mkdtempSync(join(tmpdir(), "troupe-json-"));
  try {
    const on = async (...args: readonly string[]): Promise<readonly unknown[]> => {
      const ran = await troupe(...args, "--data", data, "--json");
      assert.equal(ran.code, 0, ran.stderr);
      return lines(ran.stdout);
    };
    const module = ["--module", "examples/counter-disk"];
    const main = "counter/main";
    const members = told();
    const printed = new Map<string, Set<string>>();
    const shows = async (command: string, ...args: readonly string[]): Promise<readonly unknown[]> => {
      const found = await on(...command.split(" "), ...args);
      const names = printed.get(command) ?? new Set();
      for (const name of found.flatMap(membersOf)) names.add(name);
      printed.set(command, names);
      return found;
    };

    {
      // What is served stands in the directory from then on.
      await using server = running("serve", "examples/counter-disk", "--http", "0", "--data", data);
      await server.said(/is served/);
    }
    for (const by of [1, 2]) await shows("call", main, "tools/add", JSON.stringify({ by }), "--start", ...module);
    {
      await using store = sqliteStore({ directory: data });
      for (const id of ["lost.1", "lost.2"]) {
        await store.enqueue(messageTo(main, id, { action: "nobody", start: null }));
        await store.settle(id, "dead", { why: "CRASHED: three times" });
      }
      const old = new ChainWriter("counter/old");
      await store.commit(old.id, old.next({ row: { status: "stopped" } }));
    }
    const [letter] = await shows("letters");
    assert.equal(isJsonObject(letter) && letter["id"], "lost.1");
    await shows("letters replay", "lost.1", ...module);
    await shows("letters drop", "lost.2", ...module);
    await shows("prune", "--ended-before", "30d");
    const config = join(data, "settings.mjs");
    writeFileSync(config, "export default { rate: 5 };");
    await shows("config", "--config", config);
    await shows("actors", "--bytes");
    await shows("actors --by-kind");
    await shows("state", main);
    const [event] = await shows("chain", main);
    assert.ok(isJsonObject(event));
    await shows("causes", String(event["id"]));
    for (const title of ["No lights", "No water"])
      await on(
        "call",
        "desk/main",
        "tools/report",
        JSON.stringify({ title, severity: 2 }),
        "--start",
        "--module",
        "examples/incident-desk",
      );
    await shows("find", "incident", "--limit", "1", "--count");
    // The other members are those that the index picks.
    for (const picked of ["title", "severity", "status"]) printed.get("find")?.delete(picked);
    await shows("index list");
    await shows("index rebuild", "incidents-open", "--module", "examples/incident-desk");
    await shows("index verify", "incidents-open", "--module", "examples/incident-desk");
    await shows("verify");
    await shows("replay", main, ...module);
    await shows("diff", main, "1", "2");
    await shows("fork", main, "counter/copy", ...module);
    await shows("revert", main, "--to", "1", "--reason", "a mistake");
    await shows("edit", main, "--state", '{"count":5}', "--reason", "counted anew", "--allow-edit", ...module);
    await shows("checkpoint", main, ...module);
    await shows("restart", main, ...module);
    await shows("stop", main, ...module);

    assert.deepEqual(
      Object.fromEntries(Array.from(printed, ([command, names]) => [command, [...names].toSorted()])),
      Object.fromEntries(members),
    );
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
});
