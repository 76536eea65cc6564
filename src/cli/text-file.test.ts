import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { clusterSecret } from "./cluster/secret.ts";
import { signingKeyIn } from "./signing-key.ts";
import { readTextFile } from "./text-file.ts";

test("files of options, keys and secrets may begin with a byte order mark", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-bom-"));
  const withMark = (name: string, text: string): string => {
    const file = join(folder.path, name);
    writeFileSync(file, `\uFEFF${text}`);
    return file;
  };
  assert.equal(readTextFile(withMark("keys.json", '{"a":"\uFEFF"}'), "--api-keys"), '{"a":"\uFEFF"}');
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = await signingKeyIn(withMark("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString()));
  assert.ok(key.equals(privateKey));
  assert.equal(Buffer.from(clusterSecret({}, withMark("secret", `${"AB".repeat(32)}\r\n`))).toString("hex"), "ab".repeat(32));
});
