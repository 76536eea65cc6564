import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { running, troupe } from "./run.ts";

const KETTLE = (persistence: string): string => `
import { actor } from "troupe";
export const kettle = actor("kettle", {
  description: "A kettle.", per: "shared", persistence: "${persistence}",
  initial: ({ key }) => { if (key === "cracked") throw new Error("cracked"); return { hot: 0 }; },
  tools: { heat: { description: "Heat.", run({ state }) { state.hot += 1; return state.hot; } } },
});
`;

test("restart says that there is no such actor, beside a server and without one, of kinds on disk and in memory", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-restart-"));
  try {
    for (const persistence of ["disk", "memory"]) {
      const module = join(folder, `${persistence}.ts`);
      const data = join(folder, persistence);
      writeFileSync(module, KETTLE(persistence));
      await using served = running("serve", "examples/counter-disk", module, "--http", "127.0.0.1:0", "--data", data, "--json");
      await served.said(/"ready":true/);
      const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data, "--json");
      assert.equal((await on("call", "kettle/mine", "tools/heat", "--start")).code, 0);
      const alive = await on("restart", "kettle/mine");
      assert.deepEqual([alive.code, alive.stdout], [0, '{"ok":true}\n'], alive.stderr);
      const none = await on("restart", "kettle/none");
      assert.equal(none.code, 4, none.stdout);
      assert.match(none.stderr, /There is no actor kettle\/none/);
      // Its start threw, so there is no actor.
      assert.match((await on("call", "kettle/cracked", "tools/heat", "--start")).stderr, /CRASHED/);
      assert.equal((await on("restart", "kettle/cracked")).code, 4);
      served.child.kill("SIGTERM");
      await served.ended;
      assert.equal((await on("restart", "kettle/none")).code, 4);
      if (persistence === "disk") assert.equal((await on("restart", "kettle/mine")).code, 0);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
