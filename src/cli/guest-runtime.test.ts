import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalEngine } from "../core/engine/index.ts";
import { memoryStore } from "../core/store/index.ts";
import { GuestRuntime } from "./guest-runtime.ts";

test("manifests are never read from the data directory inside their folder", async () => {
  const project = mkdtempSync(join(tmpdir(), "troupe-runtime-"));
  const data = join(project, ".troupe");
  try {
    mkdirSync(join(data, "guests", "somebody"), { recursive: true });
    const evil = 'name = "evil"\n[[handlers]]\ntype = "environment"\nconfig = { allowed_vars = ["HOME"] }\n';
    writeFileSync(join(data, "guests", "somebody", "evil.toml"), evil);
    writeFileSync(join(data, "key"), "secret");
    writeFileSync(join(project, "own.toml"), 'name = "own"\ncomponent = ".troupe/key"\n');
    await using runtime = new GuestRuntime(data, project);
    await using engine = await LocalEngine.start({ kinds: [runtime.guests.kind], store: memoryStore() });
    runtime.attachEngine(engine, undefined);
    for (const manifest of [".troupe/guests/somebody/evil.toml", 'name = "x"\ncomponent = ".troupe/key"', "own.toml"]) {
      const preparing = runtime.guests.prepare({ to: "guest/x", manifest });
      await assert.rejects(preparing, { code: "NOT_ALLOWED", message: /where the server and its guests write/ }, manifest);
    }
  } finally {
    rmSync(project, { recursive: true });
  }
});
