import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, type DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { StoreError } from "../contract/index.ts";
import { ChainWriter } from "../../testing/conformance/index.ts";
import { GroupCommit } from "./group-commit.ts";
import { sqliteStore } from "./index.ts";
import { openDatabase } from "./database.ts";
import { Checkpointer, SyncRecord } from "./checkpointer.ts";
import { WalSync } from "./wal-sync.ts";

const temporary = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), "troupe-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

const faultOf = (of: { readonly fault?: StoreError | undefined }): StoreError | undefined => of.fault;

test("failing checkpoints are reported once; above 16 MB of log a store is not ready", async () => {
  using directory = temporary();
  let isDenied = true;
  let prepared: DatabaseSync | undefined;
  const reported: (string | undefined)[] = [];
  await using store = sqliteStore({
    directory: directory.path,
    onCheckpoint: (fault) => reported.push(fault?.message),
    beforeCommit(database) {
      if (prepared === database) return;
      prepared = database;
      database.setAuthorizer((action, name, mode) =>
        isDenied && action === constants.SQLITE_PRAGMA && name === "wal_checkpoint" && mode === "PASSIVE"
          ? constants.SQLITE_DENY
          : constants.SQLITE_OK,
      );
    },
  });
  const writer = new ChainWriter("door/a");
  const grow = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) await store.commit(writer.id, writer.next({ full: true, state: "x".repeat(1_000_000) }));
  };
  await grow(6);
  assert.equal(reported.length, 1);
  assert.match(reported[0] ?? "", /cannot be copied into its file/u);
  assert.equal(faultOf(store), undefined);
  await grow(14);
  assert.equal(reported.length, 1);
  assert.match(faultOf(store)?.message ?? "", /cannot be copied into its file/u);
  assert.ok((store.backlog ?? 0) >= 4_000, String(store.backlog));
  isDenied = false;
  await grow(3);
  assert.deepEqual(reported.slice(1), [undefined]);
  assert.equal(faultOf(store), undefined);
  assert.ok((store.backlog ?? 0) < 1_000, String(store.backlog));
});

/** A log whose outcomes the test decides. */
class ScriptedLog extends Checkpointer {
  errno: string | undefined;
  failure: Error | undefined;
  override synced(): void {
    if (this.failure !== undefined) throw this.failure;
  }
  override writeError(): string | undefined {
    return this.errno;
  }
}

const scriptedLog = (directory: string): ScriptedLog & Disposable => {
  const path = join(directory, "a.db");
  const database = openDatabase(path);
  database.exec("CREATE TABLE t(a)");
  const record = SyncRecord.take(`${path}.pid`);
  const dispose = (): void => {
    record.close();
    database.close();
  };
  return Object.assign(new ScriptedLog(path, database, record), { [Symbol.dispose]: dispose });
};

const disk = { sync: (done: (error: Error | null) => void) => done(null), close: () => undefined };

test("C2 a sync that fails inside a checkpoint is followed by no other", async () => {
  using directory = temporary();
  using log = scriptedLog(directory.path);
  const wal = new WalSync(disk, () => 0, log);
  const commits = new GroupCommit({ isTransaction: false, exec: () => undefined }, () => undefined, { wal });
  await commits.add(() => 1);
  log.failure = Object.assign(new Error("disk I/O error"), { errcode: 1_034 });
  await commits.add(() => 2);
  await assert.rejects(
    commits.add(() => 3),
    (error) => error instanceof StoreError && error.code === "STORE_IO" && /restart the server/u.test(error.message),
  );
  assert.throws(() => commits.emptyLog(), { code: "STORE_IO" });
  assert.equal(wal.hasFailed, true);
  await wal.close();
});

for (const [errno, code] of [
  ["EROFS", "STORE_READ_ONLY"],
  ["EIO", "STORE_IO"],
] as const)
  test(`a store whose writes all fail with ${errno} is not ready after 5 s`, async () => {
    using directory = temporary();
    using log = scriptedLog(directory.path);
    let ms = 0;
    let isBroken = true;
    const database = {
      isTransaction: false,
      exec(sql: string) {
        if (isBroken && sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { errcode: 778 });
      },
    };
    const wal = new WalSync(disk, () => ms, log);
    const commits = new GroupCommit(database, () => undefined, { wal });
    log.errno = errno;
    const refused = { code, message: new RegExp(errno, "u") };
    await assert.rejects(
      commits.add(() => 1),
      refused,
    );
    assert.equal(faultOf(commits), undefined);
    ms += 5_000;
    await assert.rejects(
      commits.add(() => 2),
      refused,
    );
    assert.equal(faultOf(commits)?.code, code);
    isBroken = false;
    ms += 1_000;
    // Reading the fault tries a write, since clients do not write while the store is not ready.
    assert.equal(faultOf(commits)?.code, code);
    for (let rounds = 0; rounds < 8; rounds += 1) await turn();
    assert.equal(faultOf(commits), undefined);
    await wal.close();
  });
