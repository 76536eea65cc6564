import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

test("troupe/testing loads no test runner", () => {
  const index = join(import.meta.dirname, "../index.ts");
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ resolve(name, context, next) { loaded.push(name); return next(name, context); } });
    const { testServer } = await import(${JSON.stringify(index)});
    await using server = await testServer({ exchange: () => ({ status: 202 }) });
    console.log(JSON.stringify({ made: typeof server.client, count: loaded.length, runners: loaded.filter((name) => /^(node:test|vitest|jest|@jest)/.test(name)) }));
  `;
  const out = execFileSync(process.execPath, ["--conditions=troupe-source", "--input-type=module", "-e", program], { encoding: "utf8" });
  const { made, count, runners } = JSON.parse(out);
  assert.equal(made, "function");
  assert.ok(count > 50);
  assert.deepEqual(runners, []);
});
