import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { StoreError, type ActorId, type ChainEvent, type Entry, type Store } from "../contract/index.ts";
import { commitWithCallback } from "../contract/internal.ts";
import { ChainWriter, messageTo } from "../../testing/conformance/index.ts";
import { readHeader, sha256, stateFrom } from "../chain/index.ts";
import { GroupCommit } from "./group-commit.ts";
import { checkFile, sqliteStore } from "./index.ts";
import { openDatabase } from "./database.ts";

const connect = (path: string): DatabaseSync => new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path);

function temporary(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "troupe-sqlite-"));
  return {
    path,
    [Symbol.dispose]() {
      chmodSync(path, 0o700);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

const fixture = join(import.meta.dirname, "writer.fixture.ts");

interface Child extends AsyncDisposable {
  readonly pid: number;
  /** Settles when the process has ended, with all it printed. */
  readonly ended: Promise<string>;
  printed(line: string): Promise<void>;
  /** Settles when it has printed so many lines. */
  lines(count: number): Promise<void>;
  kill(): void;
}

function child(...args: readonly string[]): Child {
  const running = spawn(process.execPath, ["--conditions=troupe-source", fixture, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const waiting: { holds: () => boolean; done: () => void }[] = [];
  running.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    for (const { holds, done } of waiting) if (holds()) done();
  });
  const ended = once(running, "close").then(() => text);
  const until = (what: string, holds: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      if (holds()) resolve();
      waiting.push({ holds, done: resolve });
      void ended.then(() => reject(new Error(`It ended without ${what}: ${text}`)));
    });
  return {
    pid: running.pid ?? 0,
    ended,
    printed: (line) => until(`saying ${line}`, () => text.includes(line)),
    lines: (count) => until(`${count} lines`, () => text.split("\n").length > count),
    kill: () => void running.kill("SIGKILL"),
    async [Symbol.asyncDispose]() {
      running.kill("SIGKILL");
      await ended;
    },
  };
}

/** The outcome of opening the store in another process, which has few file handles. */
async function openedElsewhere(directory: string, before = ""): Promise<string> {
  const opens = `
    import { openSync } from "node:fs";
    import { sqliteStore } from ${JSON.stringify(import.meta.resolve("./index.ts"))};
    ${before}
    try {
      sqliteStore({ directory: process.argv[1] });
      console.log("opened");
    } catch ({ code, message }) {
      console.log(code, message);
    }`;
  const node = [process.execPath, "--conditions=troupe-source", "--input-type=module", "--eval", opens, directory];
  return (await promisify(execFile)("sh", ["-c", 'ulimit -n 256; exec "$@"', "sh", ...node])).stdout;
}

async function wholeChain(store: Store, id: ActorId): Promise<readonly ChainEvent[]> {
  const events: ChainEvent[] = [];
  for (;;) {
    const page = await store.events(id, events.length, 500);
    if (page.length === 0) return events;
    events.push(...page);
  }
}

test("a store's files and its lock are readable by their owner only", async () => {
  using directory = temporary();
  chmodSync(directory.path, 0o755);
  await using store = sqliteStore({ directory: directory.path });
  await store.commit("door/front", new ChainWriter("door/front").next());
  const holding = readdirSync(directory.path);
  assert.deepEqual(holding.toSorted(), ["troupe.db", "troupe.db-shm", "troupe.db-wal", "troupe.db.lock", "troupe.db.pid"]);
  for (const name of holding) assert.equal(statSync(join(directory.path, name)).mode & 0o777, 0o600, name);
});

test("a second server is refused with the holder's process id, and readers may open #store.lock", async () => {
  using directory = temporary();
  await using holder = child(directory.path, "hold");
  await holder.printed("ready");
  assert.throws(
    () => sqliteStore({ directory: directory.path }),
    (error) =>
      error instanceof StoreError &&
      error.code === "STORE_LOCKED" &&
      error.message.includes(`process ${holder.pid}`) &&
      /Stop that server/u.test(error.message),
  );
  await using reader = sqliteStore({ directory: directory.path, readOnly: true });
  assert.equal(await reader.count({}), 0);
});

test("one process opens a store once at a time, and again after closing it", async () => {
  using directory = temporary();
  {
    await using first = sqliteStore({ directory: directory.path });
    assert.equal(await first.count({}), 0);
    assert.throws(() => sqliteStore({ directory: directory.path }), { code: "STORE_LOCKED" });
  }
  await using again = sqliteStore({ directory: directory.path });
  assert.equal(await again.count({}), 0);
});

test("the lock of a killed server is taken over #store.lock", async () => {
  using directory = temporary();
  const holder = child(directory.path, "hold");
  await holder.printed("ready");
  holder.kill();
  await holder.ended;
  assert.ok(existsSync(join(directory.path, "troupe.db.pid")));
  await using store = sqliteStore({ directory: directory.path });
  assert.equal(await store.count({}), 0);
});

test("a killed server's missing log is reported at each start until acknowledged", async () => {
  using directory = temporary();
  const log = join(directory.path, "troupe.db-wal");
  const reported: string[] = [];
  const opened = async (): Promise<void> => {
    await sqliteStore({ directory: directory.path, onLostLog: ({ event, log: path }) => void reported.push(`${event} ${path}`) })[
      Symbol.asyncDispose
    ]();
  };
  const killed = async (): Promise<void> => {
    await using holder = child(directory.path, "hold");
    await holder.printed("ready");
    holder.kill();
    await holder.ended;
  };
  await opened();
  await opened();
  await killed();
  assert.ok(existsSync(log));
  await opened();
  assert.deepEqual(reported, []);
  await killed();
  rmSync(log);
  await opened();
  const missing = `log-missing ${log}`;
  assert.deepEqual(reported, [missing]);
  // It is reported until an operator acknowledges it.
  await opened();
  assert.deepEqual(reported, [missing, missing]);
  rmSync(join(directory.path, "troupe.db.log-lost"));
  await opened();
  assert.deepEqual(reported, [missing, missing]);
});

test("opening a store waits for a reader that recovers a killed server's log", async () => {
  using directory = temporary();
  const path = join(directory.path, "troupe.db");
  await sqliteStore({ directory: directory.path })[Symbol.asyncDispose]();
  // Locks everyone out, as such a reader does, until a process has the store's lock and a little longer.
  const reader = `
    const { existsSync } = require("node:fs");
    const database = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT");
    console.log("held");
    const timer = setInterval(() => {
      if (!existsSync(process.argv[1] + ".pid")) return;
      clearInterval(timer);
      setTimeout(() => database.close(), 100);
    }, 1);`;
  const running = spawn(process.execPath, ["--eval", reader, path], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(running, "close");
  try {
    await once(running.stdout, "data");
    await using store = sqliteStore({ directory: directory.path });
    assert.equal(await store.count({}), 0);
  } finally {
    running.kill("SIGKILL");
    await ended;
  }
});

test("a failed second opening in one process leaves the store locked to others", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  assert.throws(() => sqliteStore({ directory: directory.path }), { code: "STORE_LOCKED" });
  assert.match(await openedElsewhere(directory.path), /^STORE_LOCKED /u);
  assert.equal(await store.count({}), 0);
});

test("a store behind a symbolic link is opened and locked at its real path", async () => {
  using directory = temporary();
  const there = join(directory.path, "there");
  const one = join(directory.path, "one");
  const two = join(directory.path, "two");
  for (const path of [one, two]) mkdirSync(path);
  await sqliteStore({ directory: there })[Symbol.asyncDispose]();
  for (const path of [one, two]) symlinkSync(join(there, "troupe.db"), join(path, "troupe.db"));
  const writer = new ChainWriter("door/front");
  {
    await using store = sqliteStore({ directory: one });
    await store.commit(writer.id, writer.next());
    assert.throws(() => sqliteStore({ directory: two }), { code: "STORE_LOCKED" });
  }
  await using store = sqliteStore({ directory: two });
  assert.equal((await store.load(writer.id))?.seq, 1);
});

test("a process without a free file handle says so when it cannot open its store", async () => {
  using directory = temporary();
  await sqliteStore({ directory: directory.path })[Symbol.asyncDispose]();
  const answer = await openedElsewhere(directory.path, 'try { for (;;) openSync("/dev/null"); } catch {}');
  assert.match(answer, /^STORE_IO There is no file handle left .+ulimit -n/u);
});

test("a damaged lock file is reported as such, not as a damaged store", async () => {
  using directory = temporary();
  {
    await using store = sqliteStore({ directory: directory.path });
    assert.equal(await store.count({}), 0);
  }
  const lock = join(directory.path, "troupe.db.lock");
  writeFileSync(lock, "this is no lock, but long enough to look at".repeat(100));
  assert.throws(
    () => sqliteStore({ directory: directory.path }),
    (error) => error instanceof StoreError && error.code === "STORE_IO" && error.message.includes(lock) && /delete it/u.test(error.message),
  );
  rmSync(lock);
  await using store = sqliteStore({ directory: directory.path });
  assert.equal(await store.count({}), 0);
});

test("C2 C5 C6 a store killed at any moment has each acknowledged turn and message once #store.crashes", async () => {
  using directory = temporary();
  const acknowledged = new Map<string, string>();
  const taken = new Set<string>();
  // A slow machine commits less between two kills, so it gets more of them.
  for (let round = 0; round < 12 || (acknowledged.size <= 1_000 && round < 60); round += 1) {
    const server = child(directory.path);
    // Killed after a number of lines, not a time: a busy machine does less in the same time.
    await server.lines(40 + round * 40);
    server.kill();
    const lines = (await server.ended).split("\n");
    assert.deepEqual(
      lines.filter((line) => line.startsWith("fail")),
      [],
    );
    for (const line of lines.slice(0, -1)) {
      const [word, id = "", seq = "", event = ""] = line.split(" ");
      if (word === "ack") acknowledged.set(`${id} ${seq}`, event);
      if (word === "took") taken.add(id);
    }
    await using store = sqliteStore({ directory: directory.path, readOnly: round % 2 === 0 });
    const waiting = new Set((await store.undelivered(1e6)).map(({ message }) => message.id));
    const purse = await wholeChain(store, "purse/p");
    const inPurse = purse.map((event) =>
      JSON.stringify(
        stateFrom([{ ...event, body: (event.body ?? "").replace('"patch":{"n":[', '"state":{"n":').replace("]},", "},") }]).state,
      ).slice(6, -2),
    );
    assert.equal(new Set(inPurse).size, inPurse.length, "a message was applied twice");
    for (const id of taken) assert.ok(inPurse.includes(id), `${id} was taken and is not there`);
    for (let index = 0; index < 8; index += 1) {
      const events = await wholeChain(store, `door/${index}`);
      let parent: string | null = null;
      for (const [place, event] of events.entries()) {
        const header = readHeader(event);
        assert.equal(sha256(event.header), event.id);
        assert.equal(sha256(event.body ?? ""), header.body);
        assert.equal(header.parent, parent);
        assert.equal(header.seq, place + 1);
        parent = event.id;
        const ack = acknowledged.get(`door/${index} ${place + 1}`);
        if (ack !== undefined) assert.equal(ack, event.id);
      }
      assert.ok(!acknowledged.has(`door/${index} ${events.length + 1}`), "an acknowledged turn is missing");
    }
    for (const id of waiting) assert.ok(!inPurse.includes(id), `${id} is in two places`);
  }
  assert.ok(acknowledged.size > 1_000 && taken.size > 10, `${acknowledged.size} turns, ${taken.size} messages`);
  assert.deepEqual(checkFile({ directory: directory.path }), []);
});

async function filled(path: string): Promise<readonly ChainWriter[]> {
  const writers = Array.from({ length: 12 }, (_, index) => new ChainWriter(`door/${index}`));
  await using store = sqliteStore({ path });
  for (let turn = 0; turn < 30; turn += 1)
    await Promise.all(
      writers.map((writer) =>
        store.commit(
          writer.id,
          writer.next({
            state: `${writer.id} ${turn} ${"lorem ipsum ".repeat(5)}`,
            out: turn % 10 === 0 ? [messageTo("door/x", `${writer.id}.${turn}`)] : [],
            remember: { key: `k${turn}`, call: "c", reply: { ok: turn }, until: 1e15 },
            row: { wakes: { w: { at: turn, action: "w" } }, owner: "ann" },
          }),
        ),
      ),
    );
  return writers;
}

test("a flipped bit anywhere in the file is an error or changes nothing that is read #store.corrupt", async () => {
  using directory = temporary();
  const path = join(directory.path, "a.db");
  const writers = await filled(path);
  const good = readFileSync(path);
  const expected = await answers(path, writers);
  let found = 0;
  let silent = 0;
  let random = 12_345;
  for (let round = 0; round < 300; round += 1) {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    const bad = Buffer.from(good);
    const place = random % bad.length;
    bad[place] = (bad[place] ?? 0) ^ (1 << (round % 8));
    const copy = join(directory.path, `flipped.db`);
    writeFileSync(copy, bad);
    const got = await answers(copy, writers);
    for (const [index, answer] of got.entries()) {
      const right = expected[index];
      if (answer === "STORE_CORRUPT") found += 1;
      else if (answer !== right) {
        // Rows that an index no longer finds are missing, never garbage; the integrity check names them.
        assert.ok(
          answer === "absent" || answer === "fewer",
          `bit ${round % 8} of byte ${place}: ${answer.slice(0, 200)} instead of ${String(right).slice(0, 200)}`,
        );
        assert.notDeepEqual(checkFile({ path: copy }), [], `byte ${place}`);
        silent += 1;
      }
    }
    for (const name of readdirSync(directory.path)) if (name.startsWith("flipped")) rmSync(join(directory.path, name));
  }
  assert.ok(found > 20, `found ${found}, missing ${silent}`);
});

/** All answers of a store, each as text or as the code of its error. */
async function answers(path: string, writers: readonly ChainWriter[]): Promise<readonly string[]> {
  const all: string[] = [];
  let store: Store;
  try {
    store = sqliteStore({ path });
  } catch (error) {
    assert.ok(error instanceof StoreError, String(error));
    assert.ok(error.code === "STORE_CORRUPT" || error.code === "STORE_NEWER", error.message);
    return ["STORE_CORRUPT"];
  }
  await using _ = store;
  const ask = async (run: () => Promise<unknown>): Promise<void> => {
    try {
      const answer = await run();
      all.push(answer === undefined ? "absent" : JSON.stringify(answer));
    } catch (error) {
      assert.ok(error instanceof StoreError, String(error));
      assert.equal(error.code, "STORE_CORRUPT", error.message);
      all.push("STORE_CORRUPT");
    }
  };
  for (const { id, events } of writers) {
    await ask(() => store.load(id));
    await ask(() => store.remembered(id, "k7"));
    await ask(async () => {
      const chain = await store.events(id, 0, 100);
      return chain.length === events.length &&
        chain.every((event) => sha256(event.header) === event.id && event.header.includes(sha256(event.body ?? "")))
        ? "whole"
        : assert.fail(new StoreError("STORE_CORRUPT", "found by verifying"));
    });
  }
  await ask(async () => ((await store.undelivered(1_000)).length === 36 ? "whole" : undefined));
  return all;
}

test("C5 the outbox is read 8 MiB at a time, and damaged messages are skipped", async () => {
  using directory = temporary();
  const large = (n: number) => messageTo("door/a", `large.${n}`, { args: { text: "x".repeat(3_000_000) } });
  {
    await using store = sqliteStore({ directory: directory.path });
    for (let n = 0; n < 6; n += 1) await store.enqueue(large(n));
  }
  {
    using database = openDatabase(join(directory.path, "troupe.db"));
    database.exec("UPDATE outbox SET sum = sum + 1 WHERE id = 'large.1'");
  }
  await using store = sqliteStore({ directory: directory.path });
  const lost: string[] = [];
  const ids = async (...except: readonly string[]): Promise<readonly string[]> =>
    (await store.undelivered(1_000, ({ message }) => void lost.push(message), new Set(except))).map(({ message }) => message.id);
  assert.deepEqual(await ids(), ["large.0", "large.2", "large.3"]);
  assert.deepEqual(await ids("large.0", "large.2", "large.3"), ["large.4", "large.5"]);
  assert.equal(lost.length, 2);
  assert.match(lost[0] ?? "", /message large\.1 was changed while it waited/);
});

test("a full disk fails the whole batch, and the store works again when space returns #store.full", async () => {
  using directory = temporary();
  let limit: number | undefined;
  await using store = sqliteStore({
    directory: directory.path,
    beforeCommit(database) {
      database.exec(`PRAGMA max_page_count = ${limit ?? 1_000_000}`);
    },
  });
  const a = new ChainWriter("door/a");
  const b = new ChainWriter("door/b");
  await store.commit(a.id, a.next());
  limit = 1;
  await store.commit(a.id, a.next());
  const full = { name: "StoreError", code: "STORE_FULL" };
  const big = "x".repeat(200_000);
  const lost = { seq: a.seq, head: a.head };
  const results = await Promise.allSettled([
    store.commit(a.id, a.next({ state: big, out: [messageTo(b.id, "m")] })),
    store.commit(a.id, a.next({ state: big })),
    store.commit(b.id, b.next({ state: big })),
    store.enqueue(messageTo(b.id, "n", { args: big })),
  ]);
  for (const result of results) assert.ok(result.status === "rejected" && result.reason.code === "STORE_FULL", JSON.stringify(result));
  await assert.rejects(store.enqueue(messageTo(b.id, "n", { args: big })), full);
  assert.equal((await store.load(a.id))?.head, lost.head);
  assert.equal(await store.load(b.id), undefined);
  assert.deepEqual(await store.undelivered(10), []);
  limit = undefined;
  await store.enqueue(messageTo(b.id, "n"));
  a.seq = lost.seq;
  a.head = lost.head;
  await store.commit(a.id, a.next({ state: big }));
  assert.equal((await store.load(a.id))?.seq, 3);
  assert.equal(await store.count({}), 1);
});

test("a write the system refuses is STORE_IO, and nothing acknowledged is lost #store.fsync", async () => {
  using directory = temporary();
  const limited = spawn(
    "sh",
    ["-c", `trap '' XFSZ; ulimit -f 2000; exec "$0" --conditions=troupe-source "$1" "$2"`, process.execPath, fixture, directory.path],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let text = "";
  limited.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(limited, "close");
  const lines = text.split("\n");
  assert.match(lines.find((line) => line.startsWith("fail")) ?? "", /disk failed to read or write/u);
  const acknowledged = lines.filter((line) => line.startsWith("ack"));
  assert.ok(acknowledged.length > 100);
  await using store = sqliteStore({ directory: directory.path });
  for (const line of acknowledged) {
    const [, id = "", seq = "", event] = line.split(" ");
    const [kind = "", key = ""] = id.split("/");
    assert.equal((await store.events(`${kind}/${key}`, Number(seq) - 1, 1))[0]?.id, event);
  }
});

test("a failing fsync fails the batch, and a later commit overwrites its log frames #store.fsync", async () => {
  const sql: string[] = [];
  let broken = true;
  const database = {
    isTransaction: false,
    exec(text: string) {
      sql.push(text.split(";")[0] ?? "");
      if (text === "COMMIT" && broken) throw Object.assign(new Error("disk I/O error"), { errcode: 1_034 });
    },
  };
  let dropped = 0;
  const commits = new GroupCommit(database, () => (dropped += 1));
  const results = await Promise.allSettled([commits.add(() => 1), commits.add(() => 2)]);
  for (const result of results) assert.ok(result.status === "rejected" && result.reason.code === "STORE_IO");
  assert.deepEqual(sql, ["BEGIN IMMEDIATE", "COMMIT", "BEGIN IMMEDIATE"]);
  assert.equal(dropped, 1);
  broken = false;
  assert.equal(await commits.add(() => 3), 3);
});

test("a write with invalid content fails alone", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const a = new ChainWriter("door/a");
  const b = new ChainWriter("door/b");
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const broken = a.next();
  Object.assign(broken.row.pending, cycle);
  const results = await Promise.allSettled([store.commit(b.id, b.next()), store.commit(a.id, broken), store.commit(b.id, b.next())]);
  assert.deepEqual(
    results.map((result) => (result.status === "rejected" ? result.reason.code : "committed")),
    ["committed", "STORE_IO", "committed"],
  );
  assert.equal((await store.load(b.id))?.seq, 2);
  assert.equal(await store.load(a.id), undefined);
});

test("C2 each turn is reported when it is visible, and not before commit returns", async () => {
  using directory = temporary();
  const store = sqliteStore({ directory: directory.path });
  const handOver = commitWithCallback(store);
  const a = new ChainWriter("door/a");
  const reported: string[] = [];
  const handed = (name: string, entry: Entry): Promise<void> => {
    const ended = new Promise<void>((resolve) => {
      const end = (how: string): void => {
        reported.push(`${name} ${how}`);
        resolve();
      };
      handOver(a.id, entry, {
        onCommitted: () => end("committed"),
        onFailed: (error) => end(error instanceof StoreError ? error.code : String(error)),
      });
    });
    reported.push(`${name} handed over`);
    return ended;
  };
  const first = a.next();
  await Promise.all([handed("first", first), handed("again", first), handed("second", a.next())]);
  const over = ["first handed over", "again handed over", "second handed over"];
  assert.deepEqual(reported, [...over, "first committed", "again STORE_CONFLICT", "second committed"]);
  assert.equal((await store.load(a.id))?.seq, 2);
  await store[Symbol.asyncDispose]();
  await handed("closed", a.next());
  assert.deepEqual(reported.slice(6), ["closed handed over", "closed STORE_CLOSED"]);
});

test("C6 a writer that bypasses the lock loses too #engine.c6", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const a = new ChainWriter("door/a");
  await store.commit(a.id, a.next());
  const other = connect(join(directory.path, "troupe.db"));
  other.exec("UPDATE actor SET pos = pos + 1, seq = seq + 1; UPDATE event SET pos = pos + 1, seq = seq + 1");
  other.close();
  await assert.rejects(store.commit(a.id, a.next()), { code: "STORE_CONFLICT" });
});

test("newer stores, foreign databases and other files are refused with a reason #store.schema", async () => {
  using directory = temporary();
  const newer = join(directory.path, "newer.db");
  await using store = sqliteStore({ path: newer });
  await store[Symbol.asyncDispose]();
  const edit = connect(newer);
  edit.exec("PRAGMA user_version = 99");
  edit.close();
  assert.throws(() => sqliteStore({ path: newer }), { name: "StoreError", code: "STORE_NEWER", message: /version 99.*knows \d/u });
  assert.throws(() => sqliteStore({ path: newer, readOnly: true }), { code: "STORE_NEWER" });
  const foreign = join(directory.path, "foreign.db");
  const other = connect(foreign);
  other.exec("CREATE TABLE t(x)");
  other.close();
  assert.throws(() => sqliteStore({ path: foreign }), { code: "STORE_CORRUPT", message: /not written by Troupe/u });
  const garbage = join(directory.path, "garbage.db");
  writeFileSync(garbage, "this is no database, but long enough to look at".repeat(100));
  for (const readOnly of [false, true])
    assert.throws(() => sqliteStore({ path: garbage, readOnly }), { code: "STORE_CORRUPT", message: /not a database/u });
  assert.equal(readFileSync(garbage, "utf8").slice(0, 20), "this is no database,");
  // A refusal releases the lock.
  assert.throws(() => sqliteStore({ path: garbage }), { code: "STORE_CORRUPT" });
});

test("a directory that cannot be opened is named in the error", () => {
  using directory = temporary();
  const file = join(directory.path, "file");
  writeFileSync(file, "");
  assert.throws(() => sqliteStore({ directory: join(file, "data") }), { name: "StoreError", code: "STORE_IO" });
  assert.throws(() => sqliteStore({ directory: join(directory.path, "none"), readOnly: true }), {
    name: "StoreError",
    code: "STORE_IO",
    message: /no store at/u,
  });
  assert.equal(existsSync(join(directory.path, "none")), false);
  assert.throws(() => sqliteStore({}), { code: "STORE_IO" });
});

test("a read-only directory can be read but not served #store.read-only", async () => {
  using directory = temporary();
  const data = join(directory.path, "data");
  mkdirSync(data);
  const [writer] = await filled(join(data, "troupe.db"));
  assert.ok(writer);
  rmSync(join(data, "troupe.db.lock"), { force: true });
  chmodSync(join(data, "troupe.db"), 0o444);
  chmodSync(data, 0o555);
  chmodSync(directory.path, 0o755);
  // The superuser may write everywhere, so the test becomes another user meanwhile.
  const user = process.geteuid?.();
  if (user === 0) process.seteuid?.(65_534);
  try {
    assert.throws(() => sqliteStore({ directory: data }), { name: "StoreError", code: "STORE_READ_ONLY" });
    await using store = sqliteStore({ directory: data, readOnly: true });
    assert.equal((await store.load(writer.id))?.head, writer.head);
  } finally {
    if (user === 0) process.seteuid?.(0);
    chmodSync(data, 0o755);
  }
});

test("a reader next to a server sees commits at once and writes nothing", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const a = new ChainWriter("door/a");
  await store.commit(a.id, a.next());
  await using reader = sqliteStore({ directory: directory.path, readOnly: true });
  assert.equal((await reader.load(a.id))?.seq, 1);
  const cause = a.head ?? "";
  await store.commit(
    a.id,
    a.next({ cause, row: { wakes: { w: { at: 1, action: "w" } } }, remember: { key: "k", call: "c", reply: { ok: 1 }, until: 1e15 } }),
  );
  assert.equal((await reader.load(a.id))?.seq, 2);
  assert.deepEqual(await reader.event(a.head ?? ""), a.events[1]);
  assert.deepEqual(await reader.caused(cause), [a.events[1]]);
  assert.deepEqual(await store.caused(cause), [a.events[1]]);
  assert.deepEqual(await reader.due(5, 5), [{ id: a.id, wake: "w", at: 1 }]);
  assert.deepEqual(await reader.remembered(a.id, "k"), { call: "c", reply: { ok: 1 } });
  const refused = { name: "StoreError", code: "STORE_READ_ONLY" };
  await assert.rejects(reader.commit(a.id, a.next()), refused);
  await assert.rejects(reader.enqueue(messageTo(a.id, "m")), refused);
  await assert.rejects(reader.settle("m", "done"), refused);
  await assert.rejects(reader.letter("m", "drop"), refused);
  await assert.rejects(reader.erase(a.id, 1), refused);
  await assert.rejects(reader.remove({ id: a.id, head: a.head ?? "" }), refused);
});

test("erased bodies are no longer in the files #chain.erase #spec.6.by-design", async () => {
  using directory = temporary();
  const secret = "the-secret-that-was-erased";
  await using store = sqliteStore({ directory: directory.path });
  const a = new ChainWriter("door/a");
  for (let turn = 0; turn < 20; turn += 1)
    await store.commit(a.id, a.next(turn === 3 ? { state: secret.repeat(400) } : turn === 4 ? { state: secret } : {}));
  const holding = (): readonly string[] =>
    readdirSync(directory.path).filter((name) => readFileSync(join(directory.path, name)).includes(secret));
  assert.notDeepEqual(holding(), []);
  assert.equal(await store.erase(a.id, 17), 16);
  assert.deepEqual(holding(), []);
});

test("a copy of the files of a running server opens", async () => {
  using directory = temporary();
  using copy = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const a = new ChainWriter("door/a");
  for (let turn = 0; turn < 5; turn += 1) await store.commit(a.id, a.next());
  for (const name of ["troupe.db", "troupe.db-wal"]) copyFileSync(join(directory.path, name), join(copy.path, name));
  await using other = sqliteStore({ directory: copy.path });
  assert.equal((await other.load(a.id))?.seq, 5);
});

test("every query of actors uses an index #engine.start-up", async () => {
  using directory = temporary();
  const path = join(directory.path, "a.db");
  await filled(path);
  const database = openDatabase(path, { readOnly: true });
  const plan = (sql: string): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row["detail"]))
      .join("; ");
  for (const sql of [
    "SELECT * FROM actor WHERE kind = 'a' AND key = 'b'",
    "SELECT kind, key FROM actor WHERE uid = 'u'",
    "SELECT kind, key FROM actor WHERE parent = 'p' AND status <> 'stopped' ORDER BY kind, key",
    "SELECT * FROM actor WHERE due <= 5 AND (due, id) > (3, 4) ORDER BY due, id LIMIT 5",
    "SELECT * FROM actor WHERE due <= 5 AND (due, id) > (3, 4) AND +kind IN (SELECT value FROM json_each('[]')) ORDER BY due, id LIMIT 5",
    "SELECT count(*) AS n FROM actor WHERE owner = 'o' AND kind = 'k'",
    "SELECT count(*) AS n FROM actor WHERE status = 'stopped' AND kind = 'k'",
    "SELECT kind, key, seq, head, status FROM actor WHERE (kind, key) > ('a', 'b') ORDER BY kind, key LIMIT 5",
    "SELECT kind, key, seq, head, status FROM actor WHERE owner = 'a' AND (kind, key) > ('a', 'b') ORDER BY kind, key LIMIT 5",
    "SELECT kind, id FROM actor INDEXED BY actor_stopped WHERE status = 'stopped' AND (kind, id) > ('a', 5) ORDER BY kind, id LIMIT 5",
    "SELECT * FROM event WHERE pos = 5",
    "SELECT message, failures, sum FROM outbox WHERE id = 'm'",
    "SELECT reply FROM remembered WHERE actor = 1 AND key = 'k' AND until > 5",
  ]) {
    assert.match(plan(sql), /^SEARCH/u, sql);
    assert.doesNotMatch(plan(sql), /TEMP B-TREE/u, sql);
  }
  // However many actors of the owner have stopped.
  for (const sql of [
    "SELECT kind, key, seq, head, status FROM actor WHERE kind = ? AND owner = ? AND status <> 'stopped' ORDER BY kind, key LIMIT ?",
    "SELECT count(*) AS n FROM actor WHERE owner = ? AND status <> 'stopped'",
  ])
    assert.match(plan(sql), /^SEARCH actor USING (?:COVERING )?INDEX actor_owner_live /u, sql);
  const pageOfKind = "SELECT kind, key, seq, head, status FROM actor WHERE kind = 'a' AND key > 'b' ORDER BY kind, key LIMIT 5";
  assert.match(plan(pageOfKind), /^SEARCH actor USING INDEX actor_name \(kind=\? AND key>\?\)$/u);
  database.close();
  assert.ok(statSync(path).size > 0);
});

test("C4 replies stored by an older schema, without their call, are given again", async () => {
  using directory = temporary();
  const path = join(directory.path, "troupe.db");
  const a = new ChainWriter("door/a");
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.commit(a.id, a.next({ remember: { key: "k", call: "", reply: { ok: "old" }, until: 1e15 } }));
  }
  const database = connect(path);
  database.exec(
    "DROP TABLE content_index; DROP TABLE stale_row; DROP TABLE recent_rows; DROP TABLE gone; DROP INDEX actor_stopped; DROP INDEX actor_owner_live; ALTER TABLE remembered DROP COLUMN call; PRAGMA user_version = 1",
  );
  database.close();
  await using store = sqliteStore({ directory: directory.path });
  assert.deepEqual(await store.remembered(a.id, "k"), { call: "", reply: { ok: "old" } });
});
