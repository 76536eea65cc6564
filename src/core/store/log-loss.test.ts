import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type ActorId, type Store, StoreError } from "../contract/index.ts";
import { ForgetfulDisk } from "../../../test/torture/forgetful-disk.ts";
import { ChainWriter, messageTo } from "../../testing/conformance/index.ts";
import { checkFile, sqliteContents, sqliteExporter, sqliteStore } from "./index.ts";
import type { LogLoss } from "./log-loss.ts";
import { readLog } from "./log-loss.ts";

const temporary = (): { readonly path: string } & Disposable => {
  const path = mkdtempSync(join(tmpdir(), "troupe-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** Copies the files of an open store as its process would leave them if it were killed now. */
const killedCopy = (from: string, to: string): void => {
  cpSync(from, to, { recursive: true });
  rmSync(join(to, "troupe.db-shm"), { force: true });
};

const openedAt = async (directory: string): Promise<{ readonly losses: readonly LogLoss[]; readonly seq: number }> => {
  const losses: LogLoss[] = [];
  await using store = sqliteStore({ directory, onLostLog: (loss) => losses.push(loss) });
  return { losses, seq: (await store.load("door/a"))?.seq ?? 0 };
};

const TURNS = 30;

/** Creates a store whose process was killed after its first turns. Returns its directory. */
const killedStore = async (directory: string): Promise<string> => {
  await using store = sqliteStore({ directory: `${directory}-live` });
  const writer = new ChainWriter("door/a");
  for (let turn = 0; turn < TURNS; turn += 1) await store.commit(writer.id, writer.next());
  killedCopy(`${directory}-live`, directory);
  return directory;
};

describe("the log of a killed server", () => {
  const place = temporary();
  const killed = join(place.path, "killed");
  const trial = join(place.path, "trial");
  const log = join(trial, "troupe.db-wal");

  before(async () => {
    const directory = join(place.path, "live");
    await sqliteStore({ directory })[Symbol.asyncDispose]();
    await using store = sqliteStore({ directory });
    const writer = new ChainWriter("door/a");
    for (let turn = 0; turn < TURNS; turn += 1) await store.commit(writer.id, writer.next());
    killedCopy(directory, killed);
  });
  after(() => place[Symbol.dispose]());

  const harmed = async (harm: () => void): Promise<{ readonly losses: readonly LogLoss[]; readonly seq: number }> => {
    rmSync(trial, { recursive: true, force: true });
    cpSync(killed, trial, { recursive: true });
    harm();
    return openedAt(trial);
  };

  test("is whole, and nothing is reported", async () => {
    assert.deepEqual(await harmed(() => undefined), { losses: [], seq: TURNS });
    assert.deepEqual(await openedAt(trial), { losses: [], seq: TURNS });
  });

  test("C2 no flipped bit in it loses a turn without a report", async () => {
    const whole = readFileSync(join(killed, "troupe.db-wal"));
    const silent: number[] = [];
    let lost = 0;
    for (let step = 0; step < 60; step += 1) {
      const at = step < 12 ? step * 3 : Math.floor((step / 60) * whole.length);
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (step % 8)), at);
      const { losses, seq } = await harmed(() => writeFileSync(log, bytes));
      if (seq < TURNS) lost += 1;
      if (seq < TURNS && losses.length === 0) silent.push(at);
    }
    assert.deepEqual(silent, []);
    assert.ok(lost > 30);
  });

  test("C2 no cut of it loses a turn without a report", async () => {
    const { length } = readFileSync(join(killed, "troupe.db-wal"));
    for (const keep of [0, 1, 31, 32, 33, 4_151, 4_152, 4_153, length >> 1, length - 4_121, length - 1]) {
      const { losses, seq } = await harmed(() => truncateSync(log, keep));
      assert.ok(seq < TURNS, String(keep));
      assert.equal(losses[0]?.event, "log-cut", String(keep));
      assert.ok((losses[0]?.frames ?? 0) > 0);
    }
  });

  test("is reported as missing with what is lost", async () => {
    const { losses } = await harmed(() => rmSync(log));
    assert.equal(losses[0]?.event, "log-missing");
    assert.ok((losses[0]?.frames ?? 0) >= TURNS);
  });

  test("is reported as cut until the alarm is removed, and its copy stays", async () => {
    const { losses } = await harmed(() => truncateSync(log, 20_000));
    const [loss] = losses;
    assert.ok(loss);
    assert.equal(readFileSync(`${loss.alarm}-wal`).length, 20_000);
    assert.deepEqual((await openedAt(trial)).losses, losses);
    rmSync(loss.alarm);
    assert.deepEqual((await openedAt(trial)).losses, []);
  });

  test("is reported with an earlier loss that was not acknowledged", async () => {
    const first = (await harmed(() => truncateSync(log, 20_000))).losses[0];
    const alarm = first?.alarm ?? "";
    const cut = readFileSync(`${alarm}-wal`);
    await using store = sqliteStore({ directory: trial });
    const writer = new ChainWriter("door/b");
    for (let turn = 0; turn < 3; turn += 1) await store.commit(writer.id, writer.next());
    const again = join(place.path, "again");
    killedCopy(trial, again);
    rmSync(join(again, "troupe.db-wal"));
    const { losses } = await openedAt(again);
    assert.equal(losses[0]?.event, "log-missing");
    assert.ok((losses[0]?.frames ?? 0) > (first?.frames ?? Infinity));
    assert.deepEqual((await openedAt(again)).losses, losses);
    assert.deepEqual(readFileSync(join(again, "troupe.db.log-lost-wal.1")), cut);
    rmSync(again, { recursive: true });
  });

  test("C2 is reported where the record was damaged, too", async () => {
    const record = join(trial, "troupe.db.pid");
    const bytes = readFileSync(join(killed, "troupe.db.pid"));
    for (const damage of [bytes.subarray(0, 40), Buffer.from(bytes).fill("x", 25, 26), Buffer.from(bytes).fill("x")])
      for (const harm of [() => truncateSync(log, 20_000), () => rmSync(log)]) {
        const { losses, seq } = await harmed(() => {
          writeFileSync(record, damage);
          harm();
        });
        assert.ok(seq < TURNS);
        assert.match(losses[0]?.message ?? "", /may be missing/u);
      }
  });

  test("C2 is reported where it is another store's, older or newer", async () => {
    const others = await Promise.all(Array.from({ length: 8 }, (_, n) => killedStore(join(place.path, `other-${n}`))));
    for (const other of others) {
      const { losses } = await harmed(() => copyFileSync(join(other, "troupe.db-wal"), log));
      assert.equal(losses[0]?.event, "log-cut");
      rmSync(other, { recursive: true });
    }
  });

  test("is not taken for another store's after it was checkpointed and cut", async () => {
    const directory = join(place.path, "erased");
    const store = sqliteStore({ directory });
    const writer = new ChainWriter("door/a");
    for (let turn = 0; turn < 3; turn += 1) await store.commit(writer.id, writer.next());
    await store.commit(writer.id, writer.next({ full: true }));
    assert.ok((await store.erase(writer.id, 3)) > 0);
    const copy = join(place.path, "erased-copy");
    killedCopy(directory, copy);
    assert.equal(statSync(join(copy, "troupe.db-wal")).size, 0);
    // As if the process was killed when its first commit was on disk and not yet in the record.
    const opened = sqliteStore({ directory: copy });
    const record = readFileSync(join(copy, "troupe.db.pid"));
    await opened.commit("door/b", new ChainWriter("door/b").next());
    const later = join(place.path, "erased-later");
    killedCopy(copy, later);
    writeFileSync(join(later, "troupe.db.pid"), record);
    assert.deepEqual((await openedAt(later)).losses, []);
    for (const one of [store, opened]) await one[Symbol.asyncDispose]();
  });

  test("is reported without a record where commits lie behind the damage", async () => {
    const bytes = readFileSync(join(killed, "troupe.db-wal"));
    bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
    const { losses } = await harmed(() => {
      writeFileSync(log, bytes);
      rmSync(join(trial, "troupe.db.pid"));
    });
    assert.equal(losses[0]?.event, "log-cut");
    assert.ok((losses[0]?.commits ?? 0) > 0);
  });

  const readers: Readonly<Record<string, (onLostLog: (loss: LogLoss) => void) => Promise<void>>> = {
    async store(onLostLog) {
      await using store = sqliteStore({ directory: trial, readOnly: true, onLostLog });
      await store.list({ limit: 5 });
    },
    async exporter(onLostLog) {
      await sqliteExporter({ directory: trial, onLostLog })[Symbol.asyncDispose]();
    },
    async check(onLostLog) {
      onLostLog({ event: "log-cut", log, alarm: "", message: "" });
      checkFile({ directory: trial });
    },
  };
  for (const [name, read] of Object.entries(readers))
    test(`is unchanged by a reader: ${name}`, async () => {
      for (const harm of [() => rmSync(log), () => truncateSync(log, 0), () => truncateSync(log, 20_000)]) {
        rmSync(trial, { recursive: true, force: true });
        cpSync(killed, trial, { recursive: true });
        harm();
        const left = existsSync(log) ? readFileSync(log) : undefined;
        const seen: LogLoss[] = [];
        await read((loss) => seen.push(loss));
        assert.equal(seen.length, 1);
        assert.deepEqual(existsSync(log) ? readFileSync(log) : undefined, left);
        assert.equal((await openedAt(trial)).losses.length, 1);
      }
    });

  test("may be empty where the database has all of it", async () => {
    const directory = join(place.path, "emptied");
    await using store = sqliteStore({ directory });
    const writer = new ChainWriter("door/a");
    for (let turn = 0; turn < 40; turn += 1) await store.commit(writer.id, writer.next());
    // Erasing also empties the log.
    assert.ok((await store.erase(writer.id, 30)) > 0);
    rmSync(trial, { recursive: true, force: true });
    killedCopy(directory, trial);
    assert.equal(readFileSync(log).length, 0);
    assert.deepEqual(await openedAt(trial), { losses: [], seq: 40 });
  });

  test("is checked after it restarted, too", async () => {
    const directory = join(place.path, "anew");
    await using store = sqliteStore({ directory });
    const writer = new ChainWriter("door/a");
    for (let turn = 0; turn < 40; turn += 1) await store.commit(writer.id, writer.next());
    await store.erase(writer.id, 30);
    for (let turn = 0; turn < 10; turn += 1) await store.commit(writer.id, writer.next());
    rmSync(trial, { recursive: true, force: true });
    killedCopy(directory, trial);
    const whole = readFileSync(log);
    assert.deepEqual(await openedAt(trial), { losses: [], seq: 50 });
    rmSync(trial, { recursive: true, force: true });
    killedCopy(directory, trial);
    truncateSync(log, whole.length - 5_000);
    const { losses, seq } = await openedAt(trial);
    assert.ok(seq < 50);
    assert.equal(losses[0]?.event, "log-cut");
  });
});

test("a file shorter than its page count is refused, with and without a log", async () => {
  using place = temporary();
  const live = join(place.path, "live");
  const path = join(live, "troupe.db");
  const writer = new ChainWriter("door/a");
  {
    await using store = sqliteStore({ directory: live });
    for (let turn = 0; turn < 200; turn += 1) await store.commit(writer.id, writer.next());
  }
  const { length } = readFileSync(path);
  {
    await using store = sqliteStore({ directory: live });
    await store.commit(writer.id, writer.next());
    for (const [name, logs] of [
      ["log", true],
      ["no log", false],
    ] as const) {
      const cut = join(place.path, name);
      killedCopy(live, cut);
      if (!logs) for (const end of ["-wal", ".pid"]) rmSync(join(cut, `troupe.db${end}`));
      truncateSync(join(cut, "troupe.db"), Math.floor(length / 8_192) * 4_096);
      for (const readOnly of [true, false])
        assert.throws(() => sqliteStore({ directory: cut, readOnly }), { name: "StoreError", code: "STORE_CORRUPT" }, name);
    }
  }
});

const committed = async (store: Pick<Store, "commit">, turns: number): Promise<void> => {
  const writer = new ChainWriter("door/a");
  for (let turn = 0; turn < turns; turn += 1) await store.commit(writer.id, writer.next());
};

for (const [how, leave] of [
  ["got another target for its link", (place: string) => symlinkSync("new", join(place, "next"))],
  ["was moved away", (place: string) => mkdirSync(join(place, "next"))],
] as const)
  test(`C2 a store that is closed after its directory ${how} leaves the next one's record alone`, async () => {
    using place = temporary();
    const [data, next] = [join(place.path, "data"), join(place.path, "next")];
    leave(place.path);
    const isLink = how.includes("link");
    mkdirSync(join(place.path, "old"));
    mkdirSync(join(place.path, "new"));
    if (isLink) symlinkSync("old", data);
    const older = sqliteStore({ directory: data });
    await committed(older, 3);
    // A link is exchanged; a folder is moved before another takes its name.
    if (!isLink) renameSync(data, join(place.path, "moved"));
    renameSync(next, data);
    await using newer = sqliteStore({ directory: data });
    await committed(newer, 5);
    await older[Symbol.asyncDispose]();
    const killed = join(place.path, "killed");
    cpSync(isLink ? join(place.path, "new") : data, killed, { recursive: true });
    for (const end of ["-wal", "-shm"]) rmSync(join(killed, `troupe.db${end}`));
    assert.equal((await openedAt(killed)).losses[0]?.event, "log-missing");
    assert.deepEqual(await openedAt(join(place.path, isLink ? "old" : "moved")), { losses: [], seq: 3 });
  });

for (const [how, end] of [
  ["ended with nothing to do", ""],
  ["called exit", "process.exit(0);"],
  ["threw", "throw new Error();"],
] as const)
  test(`a process that ${how} and did not close its store is not reported as a loss`, async () => {
    using place = temporary();
    const script = `
      const { sqliteStore } = await import(${JSON.stringify(new URL("index.ts", import.meta.url).href)});
      const { ChainWriter } = await import(${JSON.stringify(new URL("../../testing/conformance/index.ts", import.meta.url).href)});
      const store = sqliteStore({ directory: ${JSON.stringify(place.path)} });
      const writer = new ChainWriter("door/a");
      for (let turn = 0; turn < 5; turn += 1) await store.commit(writer.id, writer.next());
      ${end}`;
    spawnSync(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
    assert.deepEqual(await openedAt(place.path), { losses: [], seq: 5 });
  });

test("a cut log of contents is reported, too", async () => {
  using place = temporary();
  const path = join(place.path, "content.db");
  await using store = sqliteContents(path);
  await store.put(Buffer.from("one"));
  const copy = join(place.path, "copy.db");
  for (const end of ["", "-wal", ".pid"]) copyFileSync(path + end, copy + end);
  truncateSync(`${copy}-wal`, 100);
  await sqliteContents(copy)[Symbol.asyncDispose]();
  assert.ok(readdirSync(place.path).includes("copy.db.log-lost"));
});

/** Ends a sync after so many rounds of the event loop that other commits are made meanwhile. */
const inRounds = (end: () => void, rounds = 12): void => void setImmediate(() => (rounds > 0 ? inRounds(end, rounds - 1) : end()));

test("C2 after a failed sync nothing acknowledged is lost with the power", async () => {
  using place = temporary();
  const directory = place.path;
  const path = join(directory, "troupe.db");
  const writers = Array.from({ length: 8 }, (_, n) => new ChainWriter(`door/${n}`));
  for (let failing = 1; failing <= 4; failing += 1) {
    let fails = false;
    let syncs = 0;
    await sqliteStore({ directory })[Symbol.asyncDispose]();
    const disk = new ForgetfulDisk(path, { fails: () => fails && ++syncs === failing, end: inRounds });
    const store = sqliteStore({ directory, disk });
    const acknowledged = new Map<ActorId, number>();
    for (const writer of writers) {
      const stored = await store.load(writer.id);
      writer.seq = stored?.seq ?? 0;
      writer.head = stored?.head ?? null;
    }
    fails = true;
    await Promise.all(
      writers.map(async (writer, n) => {
        for (let turn = 0; turn < 6; turn += 1) {
          // Staggered, so that some commits wait during a sync.
          for (let rounds = 0; rounds < n; rounds += 1) await new Promise((resolve) => setImmediate(resolve));
          const entry = writer.next();
          try {
            await store.commit(writer.id, entry);
            acknowledged.set(writer.id, entry.seq);
          } catch {
            return;
          }
        }
      }),
    );
    assert.equal(store.fault?.code, "STORE_IO");
    await assert.rejects(store.enqueue(messageTo("door/x", `m${failing}`)), StoreError);
    const database = readFileSync(path);
    await store[Symbol.asyncDispose]();
    // A log that may have gaps is not copied at closing.
    assert.ok(readFileSync(path).equals(database));
    disk.loseCache();
    await using again = sqliteStore({ directory, onLostLog: () => assert.fail("what was synced is there") });
    for (const [id, seq] of acknowledged) assert.ok(((await again.load(id))?.seq ?? 0) >= seq, `${failing} ${id}`);
  }
});

test("C2 a log left by another process is written and synced again before use", async () => {
  using place = temporary();
  const log = join(place.path, "troupe.db-wal");
  await using store = sqliteStore({ directory: place.path });
  const writer = new ChainWriter("door/a");
  await store.commit(writer.id, writer.next());
  const bytes = readFileSync(log);
  const { frames } = readLog(log, false);
  utimesSync(log, 1_000, 1_000);
  assert.equal(readLog(log, true).frames, frames);
  assert.ok(frames > 0);
  assert.ok(statSync(log).mtimeMs > 1_000_000);
  assert.ok(readFileSync(log).equals(bytes));
});
