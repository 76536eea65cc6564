import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { systemEntropy } from "../../core/contract/index.ts";
import { keptSecret } from "./kept-secret.ts";

describe("what nodes share", () => {
  let directory = "";
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "troupe-secret-"))));
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test("is made once, for its owner alone", () => {
    const secret = keptSecret(directory, {}, systemEntropy);
    assert.match(secret, /^[0-9a-f]{64}$/);
    assert.equal(keptSecret(directory, {}, systemEntropy), secret);
    assert.equal(readFileSync(join(directory, "secret"), "utf8"), `${secret}\n`);
    assert.equal(statSync(join(directory, "secret")).mode & 0o777, 0o600);
  });

  test("is what the environment says, which is not kept", () => {
    const secret = keptSecret(directory, {}, systemEntropy);
    assert.equal(keptSecret(directory, { TROUPE_CLUSTER_SECRET: "ab".repeat(32) }, systemEntropy), "ab".repeat(32));
    assert.equal(keptSecret(directory, { TROUPE_CLUSTER_SECRET: " " }, systemEntropy), secret);
  });

  test("is refused where it is too short, and not replaced", () => {
    writeFileSync(join(directory, "secret"), "abc");
    assert.throws(() => keptSecret(directory, {}, systemEntropy), { code: "USAGE" });
    assert.equal(readFileSync(join(directory, "secret"), "utf8"), "abc");
  });
});
