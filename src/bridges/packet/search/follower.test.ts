import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { checkpointEntry } from "../../../core/chain/index.ts";
import type { ActorId, Engine, Store } from "../../../core/contract/index.ts";
import { LocalEngine } from "../../../core/engine/index.ts";
import { memoryStore, sqliteStore } from "../../../core/store/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import { PacketError } from "../packet.ts";
import { board, chat, diary, folder, found, kinds, searched, tell } from "./notes.fixture.ts";
import { type Search, type SearchIndexOptions, searchIndex } from "./search.ts";

// The index follows the chains across restarts, damage, faults and missed changes.

const open = (engine: Engine, file: string, more: Partial<SearchIndexOptions> = {}): Search =>
  searchIndex({ engine, file, kinds, onFault: (error) => assert.fail(String(error)), ...more });

const start = (store: Store): Promise<LocalEngine> => LocalEngine.start({ kinds: [diary, board, chat], store });

test("a caller that waits finds its last message at once", async () => {
  await using engine = await start(memoryStore({}));
  await using search = open(engine, ":memory:");
  for (let n = 1; n <= 20; n += 1) {
    await tell(engine, "board/a", { text: `word${n}` });
    await search.caughtUp("board/a", n);
    assert.deepEqual(await found(search, `word${n}`), [`board/a#${n}`]);
  }
  await search.caughtUp();
  assert.equal(search.lag, 0);
  await search.caughtUp("other/a", 7);
});

test("waiting ends after its timeout, and when the index closes", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [board], store: memoryStore({ clock }), clock });
  const search = open(engine, ":memory:", { clock, kinds: [searched(board)] });
  await tell(engine, "board/a", { text: "one" });
  const timedOut = assert.rejects(
    search.caughtUp("board/a", 2, 5_000),
    (error: unknown) => error instanceof PacketError && error.type === "persistence_failed",
  );
  await clock.advance(5_000);
  await timedOut;
  const closed = assert.rejects(
    search.caughtUp("board/a", 2),
    (error: unknown) => error instanceof PacketError && error.type === "cancelled",
  );
  await search[Symbol.asyncDispose]();
  await search[Symbol.asyncDispose]();
  await closed;
  await assert.rejects(search.search("one", { owner: undefined }), PacketError);
});

test("the index survives a restart, and catches up with missed events, each once", async () => {
  using at = folder();
  const file = at.path("deep/er/search.db");
  await using store = sqliteStore({ directory: at.path("data") });
  {
    await using engine = await start(store);
    await using search = open(engine, file);
    for (let n = 0; n < 30; n += 1) await tell(engine, `diary/${n % 3}`, { text: `before ${n}` }, "ann");
    await search.caughtUp();
  }
  {
    await using engine = await start(store);
    for (let n = 0; n < 15; n += 1) await tell(engine, `diary/${n % 5}`, { text: `between ${n}` }, "ann");
    await engine.stop("diary/1", "enough");
  }
  await using engine = await start(store);
  await using search = open(engine, file);
  assert.equal((await found(search, "before", "ann")).length, 30, "before it has caught up");
  await tell(engine, "diary/2", { text: "after" }, "ann");
  await search.caughtUp();
  assert.equal((await found(search, "before", "ann")).length, 30);
  assert.equal((await found(search, "between", "ann")).length, 15, "of stopped actors too");
  assert.deepEqual(await found(search, "after", "ann"), ["diary/2#14"]);
  assert.equal(new Set(await found(search, "bet*", "ann")).size, 15);
  assert.equal(statSync(file).mode & 0o077, 0, "readable by its owner only");
});

test("one process at a time has the file; another gets an error", async () => {
  using at = folder();
  await using engine = await start(memoryStore({}));
  await using search = open(engine, at.path("search.db"));
  assert.throws(() => open(engine, at.path("search.db")), { code: "STORE_LOCKED" });
  await tell(engine, "board/a", { text: "still there" });
  await search.caughtUp();
  assert.deepEqual(await found(search, "still"), ["board/a#1"]);
  assert.throws(() => open(engine, at.path("search.db/below")), { code: "STORE_IO" });
});

test("a missing, damaged, foreign or outdated file is recreated", async () => {
  using at = folder();
  const file = at.path("search.db");
  await using engine = await start(memoryStore({}));
  for (let n = 0; n < 40; n += 1) await tell(engine, `board/${n}`, { text: `word ${"filler ".repeat(50)}`, other: "another" });
  const damages: Readonly<Record<string, () => void>> = {
    none: () => assert.ok(existsSync(file)),
    missing: () => rmSync(file),
    empty: () => writeFileSync(file, ""),
    garbage: () => writeFileSync(file, "no database ".repeat(1_000)),
    "half of it": () => truncateSync(file, Math.floor(statSync(file).size / 2)),
    "first page": () => scribble(0, 4_096),
    "schema and all after it": () => scribble(100, statSync(file).size),
    "another's": () => {
      rmSync(file);
      using database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(file);
      database.exec("CREATE TABLE meta(name TEXT, value TEXT); CREATE TABLE precious(x)");
    },
    "older layout": () => {
      using database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(file);
      database.exec("UPDATE meta SET value = '0' || substr(value, 2)");
    },
    "a log left behind": () => {
      rmSync(file);
      writeFileSync(`${file}-wal`, "x".repeat(10_000));
    },
  };
  const scribble = (from: number, to: number): void => {
    const bytes = readFileSync(file);
    bytes.fill(0xa5, from, to);
    writeFileSync(file, bytes);
  };
  for (const [name, damage] of Object.entries({ first: () => undefined, ...damages })) {
    damage();
    await using search = open(engine, file);
    await search.caughtUp();
    assert.equal((await found(search, "word")).length, 40, name);
  }
  await using other = open(engine, file, { kinds: [searched(board, ["other"])] });
  await other.caughtUp();
  assert.equal((await found(other, "another")).length, 40);
  assert.deepEqual(await found(other, "word"), []);
});

test("damage found by a search is reported and repaired automatically", async () => {
  using at = folder();
  const file = at.path("search.db");
  await using engine = await start(memoryStore({}));
  for (let n = 0; n < 400; n += 1) await tell(engine, "board/a", { text: `word${n} ${"filler ".repeat(100)}` });
  {
    await using search = open(engine, file);
    await search.caughtUp();
  }
  spoil(file, "doc");
  const faults: unknown[] = [];
  const clock = new SimulatedClock();
  await using search = open(engine, file, { clock, onFault: (error) => void faults.push(error) });
  await assert.rejects(
    async () => {
      for (let n = 0; n < 400; n += 1) await search.search(`word${n}`, { owner: undefined });
    },
    (error: unknown) => error instanceof PacketError && error.type === "persistence_failed",
  );
  assert.ok(faults.length > 0);
  await until("it has been made anew", async () => {
    await clock.advance(1_000);
    return search.lag === 0;
  });
  for (let n = 0; n < 400; n += 1) assert.deepEqual(await found(search, `word${n}`), [`board/a#${n + 1}`]);
});

test("damage found while following is repaired too", async () => {
  using at = folder();
  const file = at.path("search.db");
  await using engine = await start(memoryStore({}));
  for (let n = 0; n < 200; n += 1) await tell(engine, `board/${n}`, { text: `word${n}` });
  {
    await using search = open(engine, file);
    await search.caughtUp();
  }
  spoil(file, "actor_name");
  const faults: unknown[] = [];
  const clock = new SimulatedClock();
  await using search = open(engine, file, { clock, onFault: (error) => void faults.push(error) });
  await until("it has been made anew", async () => {
    await clock.advance(1_000);
    return search.lag === 0;
  });
  assert.ok(faults.length > 0);
  for (let n = 0; n < 200; n += 1) assert.deepEqual(await found(search, `word${n}`), [`board/${n}#1`]);
});

/** Pages of a table that are not read when the index is opened. */
function spoil(file: string, table: string): void {
  const pages = ((): readonly number[] => {
    using database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(file);
    const rows = database.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'").all(table);
    return rows.map(({ pageno }) => Number(pageno));
  })();
  const bytes = readFileSync(file);
  for (const page of pages) bytes.fill(0xa5, (page - 1) * 4_096, page * 4_096);
  writeFileSync(file, bytes);
}

test("erased bodies are in no text after a rebuild, nor in the file", async () => {
  using at = folder();
  const file = at.path("search.db");
  await using store = sqliteStore({ directory: at.path("data") });
  await using engine = await start(store);
  const search = open(engine, file);
  await tell(engine, "diary/a", { text: "embarrassing thing" }, "ann");
  await tell(engine, "diary/b", { text: "embarrassing too" }, "ann");
  const stamped = { messageId: "m", at: 1, seed: "0".repeat(32) };
  await engine.append("diary/a", (stored) => checkpointEntry("diary/a", stored, stamped));
  await tell(engine, "diary/a", { text: "harmless thing" }, "ann");
  await search.caughtUp("diary/a", 3);
  assert.equal(await store.erase("diary/a", 2), 1);
  assert.equal((await found(search, "thing", "ann")).length, 2);
  await search.rebuild("diary/a");
  assert.deepEqual(await found(search, "thing", "ann"), ["diary/a#3"], "whose it is, is known without its first body");
  assert.deepEqual(await found(search, "embarrassing", "ann"), ["diary/b#1"]);
  assert.deepEqual(await found(search, "thing", "bob"), []);
  await search.rebuild();
  assert.deepEqual(await found(search, "thing", "ann"), ["diary/a#3"]);
  await search[Symbol.asyncDispose]();
  assert.ok(!readFileSync(file).includes("embarrassing thing"));
  assert.ok(readFileSync(file).includes("harmless thing"));
});

test("an earlier life of an unknown owner is found by no one", async () => {
  using at = folder();
  await using store = sqliteStore({ directory: at.path("data") });
  await using engine = await start(store);
  await tell(engine, "diary/a", { text: "word first" }, "ann");
  await tell(engine, "diary/a", { text: "word second" }, "ann", "end");
  await tell(engine, "diary/a", { text: "word third" }, "bob");
  assert.equal(await store.erase("diary/a", 2), 1);
  await using search = open(engine, at.path("search.db"));
  await search.caughtUp();
  assert.deepEqual(await found(search, "word", "bob"), ["diary/a#3"]);
  assert.deepEqual(await found(search, "word", "ann"), []);
  assert.deepEqual(await found(search, "word", "eve", { actor: "diary/a" }), []);
});

test("every message of an actor in memory is found, and none after it has stopped", async () => {
  using at = folder();
  const file = at.path("search.db");
  const overridden = {
    to: "diary/m",
    action: "note",
    start: null,
    policy: { persistence: "memory" },
    viewer: { principal: "ann", scopes: [] },
  } as const;
  {
    await using engine = await start(memoryStore({}));
    await using search = open(engine, file);
    await Promise.all(Array.from({ length: 50 }, (_, n) => tell(engine, `chat/${n % 2}`, { text: `said ${n}` }, "ann")));
    for (let n = 0; n < 9; n += 1) await engine.call({ ...overridden, args: { text: `said ${n}` } });
    await search.caughtUp();
    for (let n = 0; n < 9; n += 1) await engine.call({ ...overridden, args: { text: `added ${n}` } });
    await search.caughtUp();
    assert.equal((await found(search, "said", "ann", { kind: "chat" })).length, 50);
    assert.equal((await found(search, "said", "ann", { kind: "diary" })).length, 9);
    assert.equal((await found(search, "added", "ann")).length, 9);
    assert.deepEqual(await found(search, "said", "bob"), []);
    await engine.stop("chat/1", "enough");
    await search.caughtUp();
    assert.equal((await found(search, "said", "ann", { kind: "chat" })).length, 25);
    await tell(engine, "chat/1", { text: "said by another" }, "bob");
    await search.caughtUp();
    assert.deepEqual(await found(search, "said", "bob"), ["chat/1#1"]);
    await engine.stop("chat/1", "enough");
    await tell(engine, "chat/1", { text: "said again" }, "ann");
    await search.caughtUp();
    assert.deepEqual(await found(search, "said", "bob"), [], "ended and begun again before anybody looked");
    assert.deepEqual(await found(search, "said again", "ann"), ["chat/1#1"]);
  }
  await using engine = await start(memoryStore({}));
  await using search = open(engine, file);
  await search.caughtUp();
  assert.deepEqual(await found(search, "said", "ann"), [], "gone with the process");
});

test("after a life in memory of an actor on disk, its messages on disk are found, and none of that life", async () => {
  await using engine = await start(memoryStore({}));
  await using search = open(engine, ":memory:");
  const all = async (): Promise<readonly string[]> => {
    await search.caughtUp();
    return (await found(search, "word", "ann")).toSorted();
  };
  await tell(engine, "diary/a", { text: "word on disk" }, "ann");
  await tell(engine, "diary/a", {}, "ann", "end");
  const viewer = { principal: "ann", scopes: [] };
  const inMemory = { to: "diary/a", start: null, policy: { persistence: "memory" }, viewer } as const;
  for (let n = 0; n < 3; n += 1) await engine.call({ ...inMemory, action: "note", args: { text: `word in memory ${n}` } });
  assert.equal((await all()).length, 4);
  await engine.call({ ...inMemory, action: "end", args: {} });
  assert.deepEqual(await all(), ["diary/a#1"], "its life took them along");
  await tell(engine, "diary/a", { text: "word on disk again" }, "ann");
  assert.deepEqual(await all(), ["diary/a#1", "diary/a#3"]);
  // Two such lives before the index reads anything.
  await tell(engine, "diary/a", {}, "ann", "end");
  await engine.call({ ...inMemory, action: "note", args: { text: "word in memory" } });
  await engine.call({ ...inMemory, action: "end", args: {} });
  for (let n = 0; n < 3; n += 1) await engine.call({ ...inMemory, action: "note", args: { text: `word in memory ${n}` } });
  assert.deepEqual(await all(), ["diary/a#1", "diary/a#3", "diary/a#5", "diary/a#6", "diary/a#7"]);
  await engine.call({ ...inMemory, action: "end", args: {} });
  await tell(engine, "diary/a", { text: "word on disk at last" }, "ann");
  assert.deepEqual(await all(), ["diary/a#1", "diary/a#3", "diary/a#5"]);
  assert.deepEqual(await found(search, "last", "ann"), ["diary/a#5"]);
});

test("the owner of an actor in memory that is indexed after its start is looked up", async () => {
  await using engine = await start(memoryStore({}));
  for (let n = 0; n < 3; n += 1) await tell(engine, "chat/a", { text: `said ${n}` }, "ann");
  await using search = open(engine, ":memory:");
  await search.caughtUp();
  await tell(engine, "chat/a", { text: "said more" }, "ann");
  await search.caughtUp();
  assert.deepEqual((await found(search, "said", "ann")).toSorted(), ["chat/a#3", "chat/a#4"]);
  assert.deepEqual(await found(search, "said", "bob"), []);
});

test("after a store is restored from a copy, the index follows the restored chains", async () => {
  using at = folder();
  const file = at.path("search.db");
  const onStore = async (texts: Readonly<Record<ActorId, string>>, name: string, then: (search: Search) => Promise<void>) => {
    await using store = sqliteStore({ path: at.path(name) });
    await using engine = await start(store);
    await using search = open(engine, file);
    for (const [id, text] of Object.entries(texts)) if (isRpcId(id)) await tell(engine, id, { text }, "ann");
    await search.caughtUp();
    await then(search);
  };
  const isRpcId = (id: string): id is ActorId => id.includes("/");
  await onStore({ "diary/a": "first", "diary/b": "first", "diary/c": "first" }, "one.db", async () => undefined);
  copyFileSync(at.path("one.db"), at.path("two.db"));
  await onStore({ "diary/a": "lost", "diary/b": "lost", "diary/new": "lost" }, "one.db", async (search) => {
    assert.equal((await found(search, "lost", "ann")).length, 3);
  });
  {
    // Another second event while the index is closed.
    await using store = sqliteStore({ path: at.path("two.db") });
    await using engine = await start(store);
    await tell(engine, "diary/b", { text: "instead" }, "ann");
    await tell(engine, "diary/b", { text: "instead" }, "ann");
  }
  await onStore({ "diary/c": "onward" }, "two.db", async (search) => {
    assert.deepEqual(await found(search, "lost", "ann"), []);
    assert.deepEqual((await found(search, "first", "ann")).toSorted(), ["diary/a#1", "diary/b#1", "diary/c#1"]);
    assert.deepEqual((await found(search, "instead", "ann")).toSorted(), ["diary/b#2", "diary/b#3"]);
    assert.deepEqual(await found(search, "onward", "ann"), ["diary/c#2"]);
  });
});

test("an unreadable actor is reported and retried; the others do not wait", async () => {
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: [board], store: memoryStore({ clock }), clock });
  let broken = true;
  const failing = new Proxy<Engine>(engine, {
    get(target, name) {
      if (name === "history")
        return (id: ActorId, afterSeq?: number) => {
          if (broken && id === "board/b") throw new Error("disk");
          return target.history(id, afterSeq);
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const faults: (ActorId | undefined)[] = [];
  await using search = open(failing, ":memory:", { clock, kinds: [searched(board)], onFault: (_, actor) => void faults.push(actor) });
  await tell(engine, "board/a", { text: "word" });
  await tell(engine, "board/b", { text: "word" });
  await tell(engine, "board/c", { text: "word" });
  await search.caughtUp("board/c", 1);
  await search.caughtUp("board/a", 1);
  assert.deepEqual((await found(search, "word")).toSorted(), ["board/a#1", "board/c#1"]);
  assert.ok(faults.length > 0 && faults.every((actor) => actor === "board/b"));
  assert.ok(search.lag > 0);
  broken = false;
  await clock.advance(1_000);
  await search.caughtUp();
  assert.equal((await found(search, "word")).length, 3);
});

test("a long chain and many actors are indexed in pages", async () => {
  await using engine = await start(memoryStore({}));
  for (let n = 0; n < 700; n += 1) await tell(engine, "board/long", { text: `word${n}` });
  for (let n = 0; n < 1_200; n += 1) await tell(engine, `board/n${n}`, { text: `actor${n}` });
  await using search = open(engine, ":memory:");
  await search.caughtUp("board/long", 700);
  for (const n of [0, 255, 256, 511, 699]) assert.deepEqual(await found(search, `word${n}`), [`board/long#${n + 1}`]);
  await search.caughtUp();
  for (let n = 0; n < 1_200; n += 1) assert.deepEqual(await found(search, `actor${n}`), [`board/n${n}#1`]);
});
