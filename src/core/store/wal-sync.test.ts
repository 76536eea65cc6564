import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { LocalEngine } from "../engine/index.ts";
import { EngineError, StoreError, type Outgoing } from "../contract/index.ts";
import { tallyKind, messageTo } from "../../testing/conformance/index.ts";
import { sqliteStore } from "./index.ts";
import { type Disk, walFile, WalSync } from "./wal-sync.ts";
import { GroupCommit } from "./group-commit.ts";

/** A disk whose syncs end when the test says so. */
class SlowDisk implements Disk {
  readonly waiting: ((error: Error | null) => void)[] = [];
  here = 0;
  takes = (): void => undefined;
  syncNow(): void {
    this.takes();
    this.here += 1;
  }
  sync(done: (error: Error | null) => void): void {
    this.waiting.push(done);
  }
  close(): void {}
  /** Ends the current sync. */
  end(error: Error | null = null): void {
    const done = this.waiting.shift();
    assert.ok(done);
    this.takes();
    done(error);
  }
}

const NOTE: Outgoing = { to: "tally/a", action: "note", args: { text: "x" }, start: null };

const quiet = { isTransaction: false, exec: () => undefined };

const watched = <T>(promise: Promise<T>): { state: "waits" | "done" | "failed"; error?: unknown } => {
  const seen: { state: "waits" | "done" | "failed"; error?: unknown } = { state: "waits" };
  promise.then(
    () => (seen.state = "done"),
    (error: unknown) => Object.assign(seen, { state: "failed", error }),
  );
  return seen;
};

const temporary = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), "troupe-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

void test("C2 a commit settles when it is on disk; later writes go with the next sync", async () => {
  const disk = new SlowDisk();
  const commits = new GroupCommit(quiet, () => undefined, { wal: new WalSync(disk, () => 0) });
  const first = watched(commits.add(() => 1));
  await turn();
  const second = watched(commits.add(() => 2));
  await turn();
  const third = watched(commits.add(() => 3));
  await turn();
  assert.deepEqual([first.state, second.state, third.state, disk.waiting.length], ["waits", "waits", "waits", 1]);
  disk.end();
  await turn();
  assert.deepEqual([first.state, second.state, third.state, disk.waiting.length], ["done", "waits", "waits", 1]);
  const rest = watched(commits.drained());
  disk.end();
  await turn();
  assert.deepEqual([second.state, third.state, disk.waiting.length, rest.state], ["done", "done", 0, "done"]);
});

void test("C2 a failed sync fails every waiting commit and is never followed by another", async () => {
  const disk = new SlowDisk();
  const wal = new WalSync(disk, () => 0);
  const commits = new GroupCommit(quiet, () => undefined, { wal });
  const first = watched(commits.add(() => 1));
  await turn();
  const second = watched(commits.add(() => 2));
  const read = watched(wal.pending() ?? Promise.resolve());
  await turn();
  disk.end(Object.assign(new Error("i/o error"), { code: "EIO" }));
  await turn();
  assert.deepEqual([first.state, second.state, read.state, disk.waiting.length, disk.here], ["failed", "failed", "failed", 0, 0]);
  // Their outcome is unknown, so neither may be reported as not applied.
  for (const { error } of [first, second]) assert.ok(error instanceof Error && !(error instanceof StoreError));
  const third = watched(commits.add(() => 3));
  await turn();
  assert.ok(third.error instanceof StoreError && third.error.code === "STORE_IO");
  assert.deepEqual([disk.waiting.length, disk.here], [0, 0]);
  await wal.close();
});

void test("a quick disk is synced on this thread, a slow one on another", async () => {
  const disk = new SlowDisk();
  let ms = 0;
  disk.takes = () => (ms += 0.1);
  const commits = new GroupCommit(quiet, () => undefined, { wal: new WalSync(disk, () => ms) });
  const first = commits.add(() => 1);
  await turn();
  disk.end();
  await first;
  await commits.add(() => 2);
  assert.deepEqual([disk.here, disk.waiting.length], [1, 0]);
  disk.takes = () => (ms += 5);
  await commits.add(() => 3);
  const slow = watched(commits.add(() => 4));
  await turn();
  assert.deepEqual([disk.here, disk.waiting.length, slow.state], [2, 1, "waits"]);
  disk.end();
  await turn();
  assert.equal(slow.state, "done");
});

void test("law 2: a read answers when what it read is on disk", async () => {
  using directory = temporary();
  const disk = new SlowDisk();
  const store = sqliteStore({ directory: directory.path, disk });
  const counted = watched(store.count({}));
  await turn();
  assert.equal(counted.state, "done");
  const sent = watched(store.enqueue(messageTo("door/x", "m")));
  await turn();
  const read = watched(store.undelivered(10));
  await turn();
  assert.deepEqual([sent.state, read.state], ["waits", "waits"]);
  while (disk.waiting.length > 0) {
    disk.end();
    await turn();
  }
  assert.deepEqual([sent.state, read.state], ["done", "done"]);
  await store[Symbol.asyncDispose]();
});

void test("C2 an unknown outcome of a sync is reported, and no more writes are taken", async () => {
  using directory = temporary();
  const disk = new SlowDisk();
  const store = sqliteStore({ directory: directory.path, disk });
  const engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store, onFault: () => undefined });
  const call = watched(engine.call(NOTE));
  while (disk.waiting.length === 0) await turn();
  disk.end(Object.assign(new Error("i/o error"), { code: "EIO" }));
  while (call.state === "waits") await turn();
  assert.ok(call.error instanceof EngineError);
  assert.equal(call.error.code, "OUTCOME_UNKNOWN");
  const next = watched(engine.call(NOTE));
  while (next.state === "waits") await turn();
  assert.equal(next.state, "failed");
  await assert.rejects(store.enqueue(messageTo("door/x", "m")), { code: "STORE_IO", message: /restart the server/u });
  assert.equal(store.fault?.code, "STORE_IO");
  await engine[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

for (const [what, harm] of [
  ["moved", (path: string) => renameSync(path, `${path}.moved`)],
  ["removed", (path: string) => rmSync(path, { recursive: true })],
  ["removed without their folder", (path: string) => rmSync(join(path, "a.db-wal"))],
  ["replaced", (path: string) => renameSync(join(path, "other"), join(path, "a.db"))],
  ["left without their lock", (path: string) => rmSync(join(path, "a.db.lock"))],
  ["given another lock", (path: string) => renameSync(join(path, "other"), join(path, "a.db.lock"))],
] as const)
  void test(`C2 no write succeeds in files that were ${what}`, async () => {
    using directory = temporary();
    const path = join(directory.path, "data");
    mkdirSync(path);
    for (const name of ["a.db", "a.db-wal", "a.db.lock", "other"]) writeFileSync(join(path, name), name);
    const executed: string[] = [];
    const database = { isTransaction: false, exec: (sql: string) => void executed.push(sql) };
    let ms = 0;
    const disk = walFile(join(path, "a.db"));
    const wal = new WalSync(disk, () => ms);
    const commits = new GroupCommit(database, () => undefined, { wal });
    ms += 10_000;
    await commits.add(() => 1);
    harm(path);
    executed.length = 0;
    ms += 10_000;
    await assert.rejects(
      commits.add(() => 2),
      { code: "STORE_IO", message: what.endsWith("lock") ? /lock file was removed or replaced/u : /were moved, removed or replaced/u },
    );
    assert.deepEqual(executed, []);
    assert.equal(wal.refusal()?.code, "STORE_IO");
    disk.close();
  });

void test("C2 an open store needs no further file handle to commit", async () => {
  using directory = temporary();
  const wal = join(directory.path, "troupe.db-wal");
  // Created before, so that opening it writes nothing.
  await sqliteStore({ directory: directory.path })[Symbol.asyncDispose]();
  const store = sqliteStore({ directory: directory.path });
  // As if the process had no file handle left: opening the log now would fail.
  renameSync(wal, `${wal}.away`);
  await store.enqueue(messageTo("door/x", "m"));
  assert.equal(store.fault, undefined);
  renameSync(`${wal}.away`, wal);
  await store[Symbol.asyncDispose]();
});
