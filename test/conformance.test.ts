// The official conformance suite: every scenario of both frozen sets and of extensions, without an expected-failures file.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { installJudges } from "./foreign/install.ts";
import { root, serveChild } from "./serve-child.ts";

const judge = (url: string, requirements: string): Promise<{ readonly code: number; readonly text: string }> => {
  const entry = join(installJudges(), "@modelcontextprotocol/conformance/dist/index.js");
  const folder = mkdtempSync(join(tmpdir(), "troupe-conformance-"));
  return new Promise((settle) => {
    execFile(
      process.execPath,
      [entry, "server", "--url", url, "--requirements", requirements, "-o", folder],
      { cwd: root, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        rmSync(folder, { recursive: true, force: true });
        settle({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : 1, text: `${stdout}\n${stderr}` });
      },
    );
  });
};

// The minimum counts guard against a run without scenarios, which would pass.
const least: Readonly<Record<string, number>> = { "2025-11-25": 30, "2026-07-28": 50 };

describe("the official conformance suite", () => {
  for (const [requirements, scenarios] of Object.entries(least))
    test(`passes every scenario of ${requirements} #repository.apart`, async () => {
      await using served = await serveChild(["examples/conformance"]);
      const { code, text } = await judge(String(served.ready.http), requirements);
      assert.equal(code, 0, text.slice(-6_000));
      assert.match(text, /Total: \d+ passed, 0 failed/);
      assert.ok((text.match(/✓/g) ?? []).length >= scenarios, text.slice(-6_000));
    });
});
