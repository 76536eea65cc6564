import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, open, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { execFileSync } from "node:child_process";
import type { WitValue } from "../wit.ts";
import { callFilesystem, TEMPORARY_PREFIX } from "./filesystem.ts";

async function place(): Promise<{ root: string; outside: string } & AsyncDisposable> {
  const top = await mkdtemp(join(tmpdir(), "guest-files-"));
  const [root, outside] = [join(top, "own"), join(top, "outside")];
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "secret");
  return { root, outside, [Symbol.asyncDispose]: () => rm(top, { recursive: true, force: true }) };
}

const on =
  (root: string, write = true, maxBytes = 1_000) =>
  (name: string, ...args: WitValue[]) =>
    callFilesystem(name, args, { root, write, maxBytes });

test("a guest writes, reads, lists and deletes files in its directory", async () => {
  await using at = await place();
  const act = on(at.root);
  assert.deepEqual(await act("list-files", ""), { result: { ok: [] }, lasting: false });
  assert.deepEqual(await act("create-dir", "notes"), { result: { ok: undefined }, lasting: true });
  assert.deepEqual(await act("write-file", "notes/one.txt", "zwölf"), { result: { ok: undefined }, lasting: true });
  assert.deepEqual(await act("write-file", "./notes//one.txt", "elf"), { result: { ok: undefined }, lasting: true });
  assert.deepEqual(await act("read-file", "notes/one.txt"), { result: { ok: new Uint8Array(Buffer.from("elf")) }, lasting: false });
  assert.deepEqual(await act("list-files", "notes"), { result: { ok: ["one.txt"] }, lasting: false });
  assert.deepEqual((await act("path-exists", "notes/one.txt")).result, { ok: true });
  assert.deepEqual((await act("path-exists", "nowhere/one.txt")).result, { ok: false });
  await act("delete-file", "notes/one.txt");
  assert.deepEqual((await act("list-files", "notes")).result, { ok: [] });
  await act("write-file", "notes/two", "2");
  await act("delete-dir", "notes");
  assert.deepEqual((await act("list-files", ".")).result, { ok: [] });
});

test("no path leaves the directory: not by .., not from the root, not by a symbolic link", async () => {
  await using at = await place();
  const act = on(at.root);
  await act("create-dir", "in");
  await symlink(join(at.outside, "secret"), join(at.root, "link"));
  await symlink(at.outside, join(at.root, "way"));
  await symlink("../../outside/secret", join(at.root, "in", "relative"));
  await symlink(join(at.outside, "new"), join(at.root, "dangling"));
  for (const path of ["../outside/secret", "in/../../outside/secret", join(at.outside, "secret"), "..", "in\\..\\x", "x\0y"])
    for (const name of ["read-file", "write-file", "list-files", "delete-file", "create-dir", "delete-dir", "path-exists"])
      await assert.rejects(act(name, path, "text"), /leaves the guest's directory|is no path/u, `${name} ${path}`);
  for (const path of ["link", "way/secret", "in/relative", "dangling"])
    for (const name of ["read-file", "write-file"]) await assert.rejects(act(name, path, "text"), /symbolic link/u, `${name} ${path}`);
  for (const path of ["way", "way/."]) await assert.rejects(act("list-files", path), /symbolic link/u);
  for (const path of ["way", "link"]) await assert.rejects(act("delete-dir", path), /symbolic link|no directory/u);
  await assert.rejects(act("delete-file", "way/secret"), /symbolic link/u);
  await assert.rejects(act("create-dir", "way/more"), /symbolic link/u);
  await assert.rejects(act("create-dir", "dangling"), /is there already/u);
  // The guest may delete the link itself, but not its target.
  await act("delete-file", "link");
  assert.equal(await readFile(join(at.outside, "secret"), "utf8"), "secret");
  await assert.rejects(stat(join(at.outside, "new")));
  assert.equal(await readlink(join(at.root, "way")), at.outside);
});

test("links created while files are written are not followed", async () => {
  await using at = await place();
  const act = on(at.root);
  await act("write-file", "file", "mine");
  const done = new AbortController();
  const swapping = (async () => {
    while (!done.signal.aborted) {
      await rm(join(at.root, "file"), { force: true });
      await symlink(join(at.outside, "secret"), join(at.root, "file")).catch(() => undefined);
    }
  })();
  for (let n = 0; n < 200; n += 1) {
    await act("write-file", "file", "overwritten").catch(() => undefined);
    const read = await act("read-file", "file").catch(() => undefined);
    assert.notDeepEqual(read?.result, { ok: new Uint8Array(Buffer.from("secret")) });
  }
  done.abort();
  await swapping;
  assert.equal(await readFile(join(at.outside, "secret"), "utf8"), "secret");
});

test("a file is replaced atomically: open readers see the old one, and its mode stays", async () => {
  await using at = await place();
  const act = on(at.root);
  await act("write-file", "file", "before");
  await chmod(join(at.root, "file"), 0o640);
  {
    await using former = await open(join(at.root, "file"));
    await act("write-file", "file", "after");
    assert.equal(await former.readFile("utf8"), "before");
  }
  assert.equal(await readFile(join(at.root, "file"), "utf8"), "after");
  assert.equal((await stat(join(at.root, "file"))).mode & 0o777, 0o640);
  assert.deepEqual(await readdir(at.root), ["file"]);
});

test("leftovers of an interrupted write are not listed, and do not block the next write", async () => {
  await using at = await place();
  const act = on(at.root);
  await act("write-file", "file", "before");
  await mkdir(join(at.root, `${TEMPORARY_PREFIX}abcdef`));
  await act("write-file", "file", "after");
  assert.deepEqual((await act("list-files", "")).result, { ok: ["file"] });
});

test("sizes are limited, pipes are refused, the root stays, and read-only directories are not written", async () => {
  await using at = await place();
  const act = on(at.root, true, 10);
  await assert.rejects(act("write-file", "large", "x".repeat(11)), /at most 10 bytes/u);
  await assert.rejects(act("path-exists", "x".repeat(5_000)), /is no path/u);
  await assert.rejects(act("delete-dir", "."), /itself/u);
  await act("create-dir", "dir");
  await assert.rejects(act("write-file", "dir", "x"), /is no file/u);
  await assert.rejects(act("delete-file", ""), /itself/u);
  await assert.rejects(act("read-file", "nothing"), { message: '"nothing" is not there (ENOENT).' });
  await writeFile(join(at.root, "large"), "x".repeat(11));
  await assert.rejects(act("read-file", "large"), /has 11 bytes, 10 are given/u);
  execFileSync("/usr/bin/env", ["mkfifo", join(at.root, "pipe")]);
  await assert.rejects(act("read-file", "pipe"), /is no file/u);
  const reader = on(at.root, false);
  await assert.rejects(reader("write-file", "new", "x"), /read only/u);
  await assert.rejects(reader("delete-file", "large"), /read only/u);
  await assert.rejects(act("execute-command", ".", "ls", []), /not offered/u);
  await assert.rejects(act("execute-nix-command", ".", "ls"), /not offered/u);
});
