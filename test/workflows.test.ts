// The workflows are YAML, run only scripts that exist, and have no more permissions than they need.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import * as z from "zod";

const root = resolve(import.meta.dirname, "..");
const permissions = z.record(z.string(), z.enum(["read", "write"]));
const workflow = z.object({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions,
  jobs: z.record(
    z.string(),
    z.object({
      permissions,
      steps: z.array(z.object({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
});
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));

const workflows = new Map(
  globSync(".github/workflows/*.yml", { cwd: root }).map((file) => [file, workflow.parse(parse(readFileSync(join(root, file), "utf8")))]),
);

test("workflows run existing npm scripts, and actions of pinned versions", () => {
  assert.ok(workflows.size >= 2);
  for (const [file, { jobs }] of workflows)
    for (const { uses, run = "" } of Object.values(jobs).flatMap(({ steps }) => steps)) {
      for (const [, script = ""] of run.matchAll(/npm run (?:-s )?([\w:-]+)/g)) assert.ok(script in scripts, `${file}: npm run ${script}`);
      if (uses !== undefined) assert.match(uses, /^[\w-]+\/[\w-]+@v\d+$/, file);
    }
});

test("workflows may only read contents, except those that publish", () => {
  for (const [file, { permissions: all, jobs }] of workflows) {
    assert.deepEqual(all, { contents: "read" }, file);
    for (const [name, job] of Object.entries(jobs)) {
      const writes = Object.entries(job.permissions).filter(([, how]) => how === "write");
      assert.ok(writes.length === 0 || name === "publish", `${file}: ${name}`);
    }
  }
});
