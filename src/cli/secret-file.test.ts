import assert from "node:assert/strict";
import { existsSync, lstatSync, mkdtempDisposableSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { storedSecret } from "./cluster/dev-nodes.ts";
import { DataDirectory } from "./data-directory.ts";
import { systemEntropy } from "../core/contract/index.ts";
import { createFile, replaceFile } from "../core/store/secret-file.ts";

const modeOf = (path: string): number => lstatSync(path).mode & 0o777;

test("a file is replaced atomically, for its owner only, and links are not followed", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-secret-"));
  const [file, theirs] = [join(folder.path, "key"), join(folder.path, "theirs")];
  writeFileSync(theirs, "mine", { mode: 0o644 });
  for (const link of [file, `${file}.new`]) symlinkSync(theirs, link);
  replaceFile(file, "secret");
  assert.deepEqual([readFileSync(file, "utf8"), lstatSync(file).isFile(), modeOf(file)], ["secret", true, 0o600]);
  assert.deepEqual([readFileSync(theirs, "utf8"), modeOf(theirs)], ["mine", 0o644]);
  replaceFile(file, "another");
  assert.equal(readFileSync(file, "utf8"), "another");
  assert.deepEqual(readdirSync(folder.path), ["key", "theirs"]);
});

test("a file is created once: existing content stays, also behind a dangling link", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-secret-"));
  const [file, link] = [join(folder.path, "a"), join(folder.path, "b")];
  assert.deepEqual([createFile(file, "first"), createFile(file, "second")], [true, false]);
  assert.equal(readFileSync(file, "utf8"), "first");
  symlinkSync(join(folder.path, "nowhere"), link);
  assert.equal(createFile(link, "x"), false);
  assert.deepEqual(readdirSync(folder.path), ["a", "b"]);
});

test("keys, secrets and notes of a data directory never follow links", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-secret-"));
  const at = (name: string): string => join(folder.path, name);
  const planted = Buffer.alloc(32, 7);
  writeFileSync(at("theirs"), planted);
  for (const name of ["key", "key.new", "secret.new", "server.json", "server.json.new"]) symlinkSync(at("theirs"), at(name));
  const directory = new DataDirectory(folder.path);
  const key = directory.key(() => undefined);
  assert.ok(!key.equals(planted));
  assert.ok(directory.key(() => assert.fail("it stays")).equals(key));
  storedSecret(folder.path, {}, systemEntropy);
  directory.writeNote({ pid: 1, modules: [] });
  for (const name of ["key", "secret", "server.json"])
    assert.deepEqual([lstatSync(at(name)).isFile(), modeOf(at(name))], [true, 0o600], name);
  assert.ok(readFileSync(at("theirs")).equals(planted));
  assert.ok(!existsSync(at("key.new")));
});
