import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isSealed, othersMayWrite, sealNote } from "./data-directory.ts";

const MODULES = ["/srv/a.ts", "/srv/b.ts"];

test("a note is trusted only if this user's server wrote it and no one else may write there", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-note-"));
  const [data, state] = [join(folder.path, "data"), join(folder.path, "state")];
  const env = { XDG_STATE_HOME: state };
  mkdirSync(data, { mode: 0o700 });
  const note = join(data, "server.json");
  writeFileSync(note, "{}", { mode: 0o600 });
  const seal = sealNote(data, MODULES, env);
  const trusted = (modules: readonly string[] = MODULES, given: string | undefined = seal): boolean => isSealed(note, modules, given, env);

  assert.ok(trusted());
  assert.equal(sealNote(data, MODULES, env), seal);
  assert.equal(isSealed(note, MODULES, undefined, env), false);
  for (const forged of ["", "0".repeat(64), "ä"]) assert.equal(trusted(MODULES, forged), false);
  assert.equal(trusted([...MODULES, "/srv/c.ts"]), false);
  // Another user has another secret.
  assert.equal(isSealed(note, MODULES, seal, { XDG_STATE_HOME: join(folder.path, "other") }), false);

  const copy = join(folder.path, "copy");
  cpSync(data, copy, { recursive: true });
  assert.equal(isSealed(join(copy, "server.json"), MODULES, seal, env), false);

  for (const [path, mode] of [
    [data, 0o777],
    [data, 0o770],
    [note, 0o666],
  ] as const) {
    const before = lstatSync(path).mode & 0o777;
    chmodSync(path, mode);
    assert.equal(trusted(), false, `${path} ${mode}`);
    chmodSync(path, before);
  }
  assert.ok(trusted());
  assert.deepEqual([othersMayWrite(data), othersMayWrite("/tmp")], [false, true]);
});

test("a secret that others may have read or written is not used", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-note-"));
  const data = folder.path;
  const state = join(folder.path, "state");
  const env = { XDG_STATE_HOME: state };
  const seal = sealNote(data, MODULES, env);
  const secret = join(state, "troupe", "note-key");
  assert.deepEqual([typeof seal, lstatSync(secret).mode & 0o777, readFileSync(secret).length], ["string", 0o600, 32]);
  chmodSync(secret, 0o644);
  assert.equal(sealNote(data, MODULES, env), undefined);
  chmodSync(secret, 0o600);
  assert.equal(sealNote(data, MODULES, env), seal);
  chmodSync(join(state, "troupe"), 0o777);
  assert.equal(sealNote(data, MODULES, env), undefined);

  const linked = join(folder.path, "linked");
  mkdirSync(join(linked, "troupe"), { recursive: true, mode: 0o700 });
  copyFileSync(secret, join(folder.path, "stolen"));
  symlinkSync(join(folder.path, "stolen"), join(linked, "troupe", "note-key"));
  assert.equal(sealNote(data, MODULES, { XDG_STATE_HOME: linked }), undefined);
});

test("a server without a home folder leaves its note unsealed", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-note-"));
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  assert.equal(sealNote(folder.path, MODULES, { XDG_STATE_HOME: file }), undefined);
});
