import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempDisposableSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { clusterSecret } from "./cluster/cluster-options.ts";
import { DataDirectory } from "./data-directory.ts";
import { makeDirectory, readTextFile } from "./files.ts";
import { readSigningKey } from "./operations.ts";

test("files of options, keys and secrets may begin with a byte order mark", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-bom-"));
  const withMark = (name: string, text: string): string => {
    const file = join(folder.path, name);
    writeFileSync(file, `\uFEFF${text}`);
    return file;
  };
  assert.equal(readTextFile(withMark("keys.json", '{"a":"\uFEFF"}'), "--api-keys"), '{"a":"\uFEFF"}');
  const { privateKey } = generateKeyPairSync("ed25519");
  const key = await readSigningKey(withMark("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString()));
  assert.ok(key.equals(privateKey));
  assert.equal(Buffer.from(clusterSecret({}, withMark("secret", `${"AB".repeat(32)}\r\n`))).toString("hex"), "ab".repeat(32));
});

test("a directory is created with its missing parents, and an existing one is left alone", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-make-"));
  const path = join(folder, "a/b/c");
  makeDirectory(path);
  makeDirectory(path);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  symlinkSync(path, join(folder, "link"));
  makeDirectory(join(folder, "link/d"));
  assert.ok(statSync(join(path, "d")).isDirectory());
  rmSync(folder, { recursive: true });
});

test("the error for a directory that cannot be created has its path and the reason", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-make-"));
  writeFileSync(join(folder, "file"), "");
  symlinkSync(join(folder, "nowhere"), join(folder, "dangling"));
  symlinkSync(join(folder, "circle"), join(folder, "circle"));
  for (const name of ["file", "file/below", "dangling", "dangling/below", "circle/below", "a/".repeat(2_500)])
    assert.throws(() => new DataDirectory(join(folder, name)).create(), { code: "DATA_DIRECTORY" }, name.slice(0, 20));
  rmSync(folder, { recursive: true });
});

// There only: a file system on which Node's own recursive creation never returns.
test("a data directory under /proc is refused at once", () => {
  for (const path of ["/proc/troupe", "/proc/troupe/below"])
    assert.throws(() => new DataDirectory(path).create(), {
      code: "DATA_DIRECTORY",
      message: /The data directory \/proc\/troupe.* cannot be made/,
    });
});
