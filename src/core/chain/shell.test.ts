import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { richChain } from "./chain.fixture.ts";
import { apply, diff, exportLine } from "./index.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/design/chain.md"), "utf8");
const recipe = /```sh\n(.*?)```/su.exec(page)?.[1] ?? "";

function run(lines: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "troupe-shell-"));
  try {
    writeFileSync(join(directory, "chain.jsonl"), lines.map((line) => `${line}\n`).join(""));
    return execFileSync("sh", ["-c", `${recipe}\ntrue`], { cwd: directory, encoding: "utf8" });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test("the documented shell recipe verifies an export, and detects changes #chain.shell", async () => {
  const chain = await richChain();
  const lines = chain.map(exportLine);
  assert.equal(run(lines), `ok: 13 events, head ${chain[12]?.id}\n`);
  const erased = chain.map(({ id, header, body }, index) =>
    exportLine({ id, header, ...(index < 5 || body === undefined ? {} : { body }) }),
  );
  assert.match(run(erased), /^ok: 13 events/u);
  assert.equal(run(lines.with(3, (lines[3] ?? "").replace('"seed":"0', '"seed":"1'))), "event 4: the body was changed\n");
  assert.equal(run(lines.with(3, (lines[3] ?? "").replace('"at":4000', '"at":4001'))), "event 4: the header was changed\n");
  assert.match(run(lines.toSpliced(3, 1)), /^event 4: it does not follow\n/u);
});

test("the documented example of a patch is correct #chain.shell", () => {
  const patch: unknown = JSON.parse(/```json\n(\{"door".*?)\n```/su.exec(page)?.[1] ?? "null");
  const log = Array.from({ length: 19 }, (_, index) => `line ${index}`);
  const before = { door: { open: false, locked: false }, log, draft: "x" };
  const after = { door: { open: true, locked: false }, log: [...log.slice(1), "It creaks open."] };
  assert.deepEqual(diff(before, after), { ...Object(patch) });
  assert.deepEqual(apply(before, diff(before, after) ?? null), after);
});
