// What the commands that write say of a directory that a program of one's own has, and of code that cannot go on from what is there.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../src/core/actor/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { sqliteStore } from "../../src/core/store/index.ts";
import { lines, troupe } from "./run.ts";

const order = actor("order", {
  description: "An order.",
  state: z.object({ n: z.int().default(0) }),
  tools: { add: { description: "Adds.", run: ({ state }) => (state.n += 1) } },
});

test("beside a program of one's own a command that writes says who has the directory", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-own-"));
  {
    await using store = sqliteStore({ directory: folder.path });
    await using engine = await LocalEngine.start({ kinds: [order], store });
    await engine.call({ to: order.id("a"), action: "tools/add", args: {}, start: null });
    const beside = await troupe("stop", "order/a", "--data", folder.path);
    assert.deepEqual([beside.code, beside.stderr.includes(`held by process ${process.pid}`)], [6, true], beside.stderr);
  }
  const after = await troupe("stop", "order/a", "--data", folder.path);
  assert.deepEqual([after.code, after.stderr.includes("name them with --module")], [2, true], after.stderr);
});

test("a call of an actor whose state cannot be brought on says what its `migrate` threw", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-own-"));
  const data = join(folder.path, "data");
  const module = join(folder.path, "order.ts");
  const write = (more: string): void =>
    writeFileSync(
      module,
      `import { actor } from "troupe";
      export const order = actor("order", { description: "An order.", initial: () => ({ n: 0 }), ${more}
        tools: { add: { description: "Adds.", run: ({ state }) => (state.n += 1) } } });`,
    );
  const call = (...more: readonly string[]): ReturnType<typeof troupe> =>
    troupe("call", "order/a", "tools/add", "--module", module, "--data", data, ...more);
  write("");
  assert.equal((await call("--start")).code, 0);
  write('version: 2, migrate() { throw new RangeError("no n to speak of"); },');
  const { code, stderr } = await call();
  assert.equal(code, 1);
  assert.match(stderr, /order\/a has failed .+ It threw RangeError: no n to speak of \(.*order\.ts:\d+:\d+\)/);
});

const LEAVE = `import { actor } from "troupe";
  export const leave = actor("leave", { description: "Leave.", initial: () => ({ waiting: 0 }), tools: {
    ask: { description: "Answers later.", run({ state, later }) { state.waiting += 1; return later(); } },
    look: { description: "Looks.", view: ({ state }) => state } } });`;

test("a call that is answered later fails where no server runs, and its store is closed", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-own-"));
  const data = join(folder.path, "data");
  const module = join(folder.path, "leave.ts");
  writeFileSync(module, LEAVE);
  const called = await troupe("call", "leave/main", "tools/ask", "--start", "--module", module, "--data", data, "--json");
  assert.equal(called.code, 1, called.stderr);
  assert.match(called.stderr, /NO_REPLY.*leave\/main answers this later/);
  assert.ok(!readdirSync(data).includes("troupe.db.pid"));
  const looked = await troupe("call", "leave/main", "tools/look", "--module", module, "--data", data, "--json");
  assert.deepEqual([looked.code, lines(looked.stdout)], [0, [{ ok: { waiting: 1 } }]], looked.stderr);
});
