// What a module leaves behind (a timer that runs for ever, a promise nobody awaits) neither holds a command up nor fails it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { sqliteStore } from "troupe/store";
import { messageTo } from "troupe/conformance";
import { lines, running, troupe } from "./run.ts";

const source = (leftover: string): string => `
import { actor } from "troupe";
${leftover}
export const bell = actor("bell", {
  description: "A bell.", per: "shared", initial: () => ({ rung: 0 }),
  tools: { ring: { description: "Ring.", run({ state }) { state.rung += 1; return state.rung; } },
    toll: { description: "Ring slowly.", async work() { await new Promise((done) => setTimeout(done, 200)); return { reply: { ok: "tolled" } }; } } },
});
`;

describe("what a module leaves behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-leftovers-"));
  const data = join(folder, "data");
  const module = (name: string, leftover: string): string => {
    const file = join(folder, name);
    writeFileSync(file, source(leftover));
    return file;
  };
  const timer = module("timer.ts", "setInterval(() => {}, 1_000);");
  const rejection = module("rejection.ts", 'void Promise.reject(new Error("left behind"));');
  const thrown = module("thrown.ts", 'setTimeout(() => { throw new Error("thrown late"); }, 50);');
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("a timer holds up no command and no server that is told to stop", async () => {
    await using called = running("call", "bell/one", "tools/ring", "--start", "--module", timer, "--data", data);
    assert.equal(await called.ended, 0, called.err());
    assert.equal(called.out(), "1\n");
    await using replayed = running("replay", "bell/one", "--module", timer, "--data", data);
    assert.equal(await replayed.ended, 0, replayed.err());
    await using served = running("serve", timer, "--http", "127.0.0.1:0", "--json", "--data", data);
    await served.said(/"ready":true/);
    served.child.kill("SIGTERM");
    assert.equal(await served.ended, 0);
  });

  test("a promise nobody awaits is told of, and the command goes on", async () => {
    await using called = running("call", "bell/one", "tools/toll", "--module", rejection, "--data", data, "--json");
    assert.equal(await called.ended, 0, called.err());
    assert.match(called.out(), /^\{"ok":/);
    assert.match(called.err(), /"event":"stray-rejection".*rejection\.ts:3/);
  });

  test("an error thrown outside of every turn ends the command as it ends a server", async () => {
    await using called = running("call", "bell/one", "tools/toll", "--module", thrown, "--data", data, "--json");
    assert.equal(await called.ended, 1, called.out());
    assert.match(called.err(), /"event":"stray-error".*thrown\.ts:3[^]*"code":"STRAY_ERROR"/);
    assert.doesNotMatch(called.err(), /Node\.js v/);
  });

  test("what a command has written arrives, also where it is more than a pipe holds", async () => {
    const many = join(folder, "many");
    {
      await using store = sqliteStore({ directory: many });
      for (let turn = 0; turn < 300; turn += 1)
        await store.enqueue(messageTo("bell/one", `m.${turn}`, { action: "x".repeat(1_000), start: null }));
      for (let turn = 0; turn < 300; turn += 1) await store.settle(`m.${turn}`, "dead", { why: "CRASHED" });
    }
    assert.equal(lines((await troupe("letters", "--json", "--data", many)).stdout).length, 300);
  });
});
