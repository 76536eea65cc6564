// Kinds that were served once and are not any more: their actors stay in the data directory, and nothing wakes them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isJsonObject } from "../wire.ts";
import { lines, running, troupe } from "./run.ts";

const KIND = (kind: string): string => `
import { actor } from "troupe";
export const ${kind} = actor("${kind}", {
  description: "A ${kind}.", per: "shared", initial: () => ({ n: 0 }),
  tools: { use: { description: "Use it.", run({ state }) { state.n += 1; return state.n; } } },
});
`;

test("serve warns once of kinds in the directory that are not served, and actors marks theirs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-unserved-"));
  try {
    const data = join(folder, "data");
    const files = ["bell", "lamp", "door"].map((kind) => {
      const file = join(folder, `${kind}.ts`);
      writeFileSync(file, KIND(kind));
      return file;
    });
    const [bell = ""] = files;
    const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);
    for (const actor of ["bell/one", "lamp/one", "lamp/two", "lamp/three", "door/one"])
      assert.equal((await on("call", actor, "tools/use", "--start", "--module", ...files)).code, 0);
    for (const ended of ["lamp/three", "door/one"]) assert.equal((await on("stop", ended, "--module", ...files)).code, 0);

    const known = await on("actors", "--json");
    assert.doesNotMatch(known.stdout, /served/, "nobody has said what is served");

    {
      await using machine = running("serve", bell, "--http", "127.0.0.1:0", "--data", data, "--json");
      await machine.said(/"ready":true/);
      // Of doors there are ended ones only.
      const [warning, ...more] = machine.err().match(/.*kinds-not-served.*/g) ?? [];
      assert.deepEqual(more, []);
      const logged: unknown = JSON.parse(warning ?? "null");
      assert.ok(isJsonObject(logged));
      assert.equal(logged["level"], "warn");
      assert.deepEqual(logged["kinds"], { lamp: 2 });
      assert.match(String(logged["what"]), /Serve the module/);
    }
    {
      await using human = running("serve", bell, "--http", "127.0.0.1:0", "--data", data);
      await human.said(/Ctrl-C stops it/);
      assert.match(human.err(), /Not served: lamp \(2 actors\)/);
    }

    const told = await on("actors");
    assert.match(told.stdout, /lamp\/one +1 +live, not served/);
    assert.match(told.stdout, /bell\/one +1 +live +\w/);
    assert.match(told.stdout, /door\/one +2 +stopped +\w/);
    assert.deepEqual(
      lines((await on("actors", "--json")).stdout).map((line) => isJsonObject(line) && [line["id"], line["served"]]),
      [
        ["bell/one", true],
        ["door/one", false],
        ["lamp/one", false],
        ["lamp/three", false],
        ["lamp/two", false],
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
