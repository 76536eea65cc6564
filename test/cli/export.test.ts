// Everything in a data directory goes out and comes into another, and goes on there.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { readDump, writeDump } from "troupe/chain";
import { LocalEngine } from "troupe/engine";
import { sqliteExporter, sqliteImporter, sqliteStore } from "troupe/store";
import { SimulatedClock, until } from "troupe/testing";
import { type Exported, exportedBy } from "troupe/conformance";
import { root } from "../serve-child.ts";
import { at } from "../wire.ts";
import { CHILD, DUE, FORK, KEYED, kinds, LIVES, MAIN, type Made, makeWorld, OLD, OTHER, PARENT, WAITING, WAKE_MS } from "./export-world.ts";
import { lines, type Ran, running, troupe } from "./run.ts";

const COUNTS = { actors: 8, events: 216, calls: 3, messages: 2, letters: 1 };

describe("export and import", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-export-"));
  const from = join(folder, "from");
  const file = join(folder, "all.jsonl");
  const clock = new SimulatedClock(Date.now());
  let made: Made;
  let folders = 0;
  const fresh = (): string => join(folder, `to-${(folders += 1)}`);
  const exportOf = async (directory: string): Promise<string> => {
    await using exporter = sqliteExporter({ directory, clock });
    let text = "";
    for await (const line of writeDump(exporter)) text += `${line}\n`;
    return text;
  };
  const heldIn = async (directory: string): Promise<Exported> => {
    await using exporter = sqliteExporter({ directory, clock });
    return await exportedBy(exporter);
  };
  const importing = (path: string, data: string, ...more: readonly string[]): Promise<Ran> =>
    troupe("import", path, "--data", data, ...more);

  before(async () => {
    made = await makeWorld(from, clock);
    const told = await troupe("export", file, "--data", from, "--json");
    assert.equal(told.code, 0, told.stderr);
    assert.deepEqual(lines(told.stdout), [{ exported: COUNTS, file }]);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  // The device that is always full, where the system has it.
  for (const full of ["/dev/full"].filter((device) => existsSync(device)))
    test("an export to standard output on a full disk says that there is no space left", () => {
      const command = '"$0" bin/troupe.js export --data "$1" > "$2"';
      const { status, stderr } = spawnSync("sh", ["-c", command, process.execPath, from, full], { cwd: root, encoding: "utf8" });
      assert.match(stderr, /There is no space left for standard output/u);
      assert.notEqual(status, 0);
    });

  test("an export is not put in the place of what the data directory holds, whatever it is called by", async () => {
    const own = fresh();
    cpSync(from, own, { recursive: true });
    const link = join(folder, "link");
    symlinkSync(own, link);
    symlinkSync(join(own, "troupe.db"), join(folder, "all.link"));
    const store = readFileSync(join(own, "troupe.db"));
    for (const target of [join(own, "troupe.db"), join(link, "troupe.db-wal"), join(own, "key"), join(folder, "all.link")]) {
      const { code, stderr } = await troupe("export", target, "--data", own);
      assert.equal(code, 2, target);
      assert.match(stderr, /^troupe: [^:]+ is a file of the data directory itself: name another one\.\n$/u);
    }
    assert.ok(readFileSync(join(own, "troupe.db")).equals(store));
    assert.equal((await troupe("export", join(own, "all.jsonl"), "--data", link)).code, 0);
  });

  test("C7 an import is what was exported, byte for byte; its chains verify, its file is whole", async () => {
    const to = fresh();
    const told = await importing(file, to, "--json");
    assert.equal(told.code, 0, told.stderr);
    assert.deepEqual(lines(told.stdout), [{ imported: COUNTS, there: { actors: 0, events: 0, calls: 0, messages: 0, letters: 0 } }]);
    assert.equal(await exportOf(to), await exportOf(from));
    const again = join(folder, "again.jsonl");
    assert.equal((await troupe("export", again, "--data", to)).code, 0);
    assert.deepEqual(readFileSync(again, "utf8").split("\n").slice(1), readFileSync(file, "utf8").split("\n").slice(1));
    const key = join(folder, "public.pem");
    writeFileSync(key, made.publicKey);
    const verified = await troupe("verify", "--public-key", key, "--data", to);
    assert.equal(verified.code, 0, verified.stdout);
    assert.match(verified.stdout, /8 actors, 216 events, 0 broken/);
  });

  test("C4 C5 the engine goes on where the export left: keys, wakes, messages, families, forks, causes", async () => {
    const to = fresh();
    assert.equal((await importing(file, to)).code, 0);
    const later = new SimulatedClock(clock.now());
    await using store = sqliteStore({ directory: to, clock: later });
    await using engine = await LocalEngine.start({ kinds, store, clock: later });
    const logOf = async (id: typeof MAIN): Promise<string> => JSON.stringify((await engine.read(id))?.state ?? null);

    await until("what waited is delivered, in order", async () => /"out\.1","out\.2"/.test(await logOf(MAIN)));
    assert.deepEqual(await store.undelivered(10), []);
    assert.deepEqual(await engine.call(KEYED, { key: "order-1" }), { ok: 3 });
    await assert.rejects(engine.call({ ...KEYED, args: { by: 9 } }, { key: "order-1" }), { code: "KEY_REUSED" });
    assert.deepEqual(await engine.call({ ...KEYED, action: "get", args: null }), { ok: 3 });

    assert.equal(await engine.keyed("tally", DUE.viewer, "due-1"), WAITING);
    const due = engine.call(DUE, { key: "due-1" });
    await engine.call({ to: WAITING, action: "answer", args: { value: "at last" } });
    assert.deepEqual(await due, { ok: "at last" });

    await later.advance(WAKE_MS);
    await until("the wake rings", async () => (await engine.read(OTHER))?.seq === 2);

    const [letter] = await engine.letters();
    assert.equal(letter?.message.id, "dead.1");
    assert.deepEqual((await store.load(LIVES))?.row.status, "live");
    assert.deepEqual(await engine.call({ to: LIVES, action: "add", args: { by: 1 } }), { ok: 4 });
    assert.deepEqual(await engine.call({ to: OLD, action: "add", args: null }), { ok: 2 });

    // An event that came in after all that it caused is found all the same.
    const [sent] = (await store.events(PARENT, 0, 9)).slice(-1);
    assert.ok(sent);
    assert.equal((await engine.event(sent.id))?.id, sent.id);
    assert.deepEqual((await engine.caused(sent.id)).length, 1);
    assert.deepEqual(await store.children(PARENT), [CHILD]);
    await engine.stop(PARENT, "over");
    await until("its child ends with it", async () => (await engine.read(CHILD))?.status === "stopped");

    const seq = (await store.load(MAIN))?.seq;
    await engine.call({ to: FORK, action: "send", args: { to: MAIN, action: "add" } });
    assert.deepEqual([await store.undelivered(10), (await store.load(MAIN))?.seq], [[], seq]);
    assert.equal(await engine.find((await store.load(LIVES))?.row.uid ?? ""), LIVES);
    assert.equal(await engine.count({ kind: "tally" }), 7);
  });

  test("an export is its owner's to read, compressed by its name, and through pipes the same", async () => {
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const packed = join(folder, "all.jsonl.gz");
    writeFileSync(packed, "what was there before", { mode: 0o644 });
    assert.equal((await troupe("export", packed, "--data", from)).code, 0);
    assert.equal(statSync(packed).mode & 0o777, 0o600);
    const rest = (bytes: Buffer): string => bytes.subarray(bytes.indexOf("\n")).toString();
    assert.equal(rest(gunzipSync(readFileSync(packed))), rest(readFileSync(file)));
    const told = await importing(packed, fresh());
    assert.match(told.stdout, /^Imported 8 actors, 216 events, 3 replies, 2 messages, 1 dead letter\.\n$/, told.stderr);
    const to = fresh();
    const piped = spawnSync(
      "sh",
      ["-c", '"$0" bin/troupe.js export --data "$1" | "$0" bin/troupe.js import --data "$2" --json', process.execPath, from, to],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
    assert.equal(piped.status, 0, piped.stderr);
    assert.match(piped.stderr, /^Exported 8 actors/);
    assert.deepEqual(at(lines(piped.stdout)[0], "imported"), COUNTS);
    assert.equal(await exportOf(to), await exportOf(from));
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".part")),
      [],
    );
  });

  test("the page's shell recipe tells whether an export is whole", () => {
    const page = readFileSync(join(root, "docs/design/export.md"), "utf8");
    const recipe = /```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    const [sum, named] = execFileSync("sh", ["-euc", recipe], { cwd: folder, encoding: "utf8" }).split("\n");
    assert.match(sum ?? "", /^[0-9a-f]{64}$/);
    assert.equal(sum, named);
  });

  test("of one kind only its actors are exported, and what waits for them", async () => {
    const bells = join(folder, "bells.jsonl");
    const told = await troupe("export", bells, "--kind", "bell", "--data", from, "--json");
    assert.deepEqual(at(lines(told.stdout)[0], "exported"), { actors: 1, events: 1, calls: 0, messages: 0, letters: 0 });
    assert.equal((await importing(bells, fresh())).code, 0);
  });

  test("a file in a folder that does not exist is not written, and the sentence says which is missing", async () => {
    const told = await troupe("export", join(folder, "nowhere", "all.jsonl"), "--data", from);
    assert.equal(told.code, 2);
    assert.match(told.stderr, /all\.jsonl cannot be written: the folder it would be in does not exist, or cannot be written\.\n$/);
  });

  test("a dry run verifies and makes nothing, whatever is there; a second import finds all there", async () => {
    const to = fresh();
    const told = await importing(file, to, "--dry-run", "--json");
    assert.deepEqual(lines(told.stdout), [{ verified: COUNTS }]);
    assert.equal(existsSync(to), false);
    for (const there of [0, 8]) {
      const [line] = lines((await importing(file, to, "--json")).stdout);
      assert.equal(at(line, "there", "actors"), there);
    }
    assert.equal(await exportOf(to), await exportOf(from));
  });

  test("an import says as whom its messages run, and --no-messages leaves them out", async () => {
    const runs = [{ scopes: [], messages: 3 }];
    const verified = await importing(file, fresh(), "--dry-run", "--json");
    const [said] = lines(verified.stderr);
    assert.deepEqual(said, { event: "import-messages", leftOut: false, runs });
    const to = fresh();
    const taken = await importing(file, to, "--no-messages");
    assert.match(taken.stdout, /^Imported 8 actors, 216 events, 3 replies, 0 messages, 0 dead letters\.\n$/, taken.stderr);
    assert.match(taken.stderr, /^Left out: 3 messages as nobody\.\n$/);
    const held = await heldIn(to);
    assert.deepEqual([held.actors.length, held.undelivered, held.letters], [8, [], []]);
    // The same import with them completes it, also where a Windows tool has put a byte order mark first.
    const marked = join(folder, "marked.jsonl");
    writeFileSync(
      marked,
      Buffer.concat([Buffer.from("\uFEFF"), file.endsWith(".gz") ? gunzipSync(readFileSync(file)) : readFileSync(file)]),
    );
    assert.equal((await importing(marked, to)).code, 0);
    assert.equal(await exportOf(to), await exportOf(from));
  });

  test("beside a running server an export is whole, and an import is refused", async () => {
    const data = fresh();
    await troupe("call", "counter/main", "tools/add", '{"by":2}', "--start", "--module", "examples/counter-disk", "--data", data);
    await using server = running("serve", "examples/counter-disk", "--http", "127.0.0.1:0", "--data", data, "--json");
    await server.said(/"ready":true/);
    await troupe("call", "counter/main", "tools/add", '{"by":3}', "--data", data);
    const live = join(folder, "live.jsonl");
    const told = await troupe("export", live, "--data", data, "--json");
    assert.deepEqual(at(lines(told.stdout)[0], "exported", "events"), 2, told.stderr);
    const refused = await importing(file, data);
    assert.equal(refused.code, 6);
    assert.match(refused.stderr, /held by process/);
    const to = fresh();
    assert.equal((await importing(live, to)).code, 0);
    const [state] = lines((await troupe("state", "counter/main", "--data", to, "--json")).stdout);
    assert.deepEqual(at(state, "state"), { count: 5 });
  });

  test("an export is of one moment, however much is written while it is read", async () => {
    const data = fresh();
    assert.equal((await importing(file, data)).code, 0);
    const goal = await exportOf(data);
    await using exporter = sqliteExporter({ directory: data, clock });
    await using store = sqliteStore({ directory: data, clock });
    await using engine = await LocalEngine.start({ kinds, store, clock });
    await until("the outbox is empty", async () => (await store.undelivered(1)).length === 0);
    let text = "";
    for await (const line of writeDump(exporter)) {
      await engine.call({ to: MAIN, action: "add", args: null });
      text += `${line}\n`;
    }
    assert.equal(text, goal);
  });

  test("a flaw names the actor and the event, and says what was imported before it", async () => {
    const text = readFileSync(file, "utf8");
    const flawed = join(folder, "flawed.jsonl");
    writeFileSync(flawed, text.replace("line 199", "line 198"));
    const to = fresh();
    const told = await importing(flawed, to, "--json");
    assert.equal(told.code, 5);
    const message = String(at(lines(told.stderr)[0], "error", "message"));
    assert.match(
      message,
      /^tally\/old, event 201: The body of event 201 was changed.*Imported before it, and whole: 5 actors, 11 events, /,
    );
    const { actors, undelivered } = await heldIn(to);
    assert.deepEqual([actors.length, actors.at(-1)?.actor.id, undelivered], [5, MAIN, []]);

    const cut = join(folder, "cut.jsonl.gz");
    writeFileSync(cut, gzipSync(text).subarray(0, -2_000));
    assert.match((await importing(cut, fresh(), "--dry-run")).stderr, /cannot be unpacked.*Sound before it: \d actors/s);
    assert.match((await importing(join(folder, "none.jsonl"), to)).stderr, /cannot be read: there is no such file/);
    const other = fresh();
    const junk = await importing(join(root, "package.json"), other);
    assert.deepEqual([junk.code, existsSync(other)], [5, false]);
    assert.match(junk.stderr, /This is no export.*Nothing was imported/);
  });

  test("an actor that is there with another chain is left as it is", async () => {
    const to = fresh();
    assert.equal((await importing(file, to)).code, 0);
    await troupe("letters", "drop", "dead.1", "--data", to, "--module", "examples/counter-disk");
    {
      await using store = sqliteStore({ directory: to, clock });
      await using _ = await LocalEngine.start({ kinds, store, clock });
      await until("it has moved on", async () => (await store.undelivered(1)).length === 0);
    }
    const goal = await exportOf(to);
    const told = await importing(file, to);
    assert.equal(told.code, 1);
    assert.match(told.stderr, /tally\/main is there already with another chain.*Nothing is ever merged/);
    assert.equal(await exportOf(to), goal);
  });

  test("C7 killed at any point, an import leaves whole actors, and the next one completes it", async () => {
    const fixture = join(root, "src/cli/import-kill.fixture.ts");
    const goal = await exportOf(from);
    const known = new Map((await heldIn(from)).actors.map((one) => [one.actor.id, one]));
    // Its importer takes 239 steps: these lie in the first actor, between two, in a long chain, at the end of it, in the messages, at the last flush.
    const kills = [
      [0, "never"],
      [3, "each"],
      [12, "never"],
      [19, "each"],
      [100, "each"],
      [225, "each"],
      [232, "each"],
      [235, "each"],
      [237, "each"],
      [238, "never"],
    ] as const;
    let kept = 0;
    for (const [steps, flushes] of kills) {
      const to = fresh();
      const killed = spawnSync(process.execPath, ["--conditions=troupe-source", fixture, file, to, String(steps), flushes], {
        encoding: "utf8",
      });
      assert.equal(killed.signal, "SIGKILL", `${steps}: ${killed.stderr}`);
      const { actors } = await heldIn(to);
      for (const one of actors) assert.deepEqual(one, known.get(one.actor.id));
      kept += actors.length;
      assert.equal((await importing(file, to)).code, 0);
      assert.equal(await exportOf(to), goal, `killed at step ${steps}`);
    }
    assert.ok(kept > 20, `${kept} actors were kept over the kills`);
  });

  test("whatever bytes of the file are flipped, what comes in is the same or is refused, whole actor by whole actor", async () => {
    const bytes = readFileSync(file);
    const { actors } = await heldIn(from);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 3 }),
        async (flips) => {
          const changed = Buffer.from(bytes);
          for (const [place, mask] of flips) changed[place] = (changed[place] ?? 0) ^ mask;
          fc.pre(!changed.equals(bytes));
          const to = fresh();
          const chunks = (async function* () {
            yield changed;
          })();
          await assert.rejects(
            readDump(chunks, async () => sqliteImporter({ directory: to, clock })),
            { name: "StoreError" },
          );
          if (!existsSync(to)) return;
          const found = await heldIn(to);
          assert.deepEqual(found.actors, actors.slice(0, found.actors.length));
          rmSync(to, { recursive: true });
        },
      ),
      { numRuns: 40 },
    );
  });

  test("a chain that does not verify is not exported, and leaves no file", async () => {
    const data = fresh();
    cpSync(from, data, { recursive: true });
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    const database = new DatabaseSync(join(data, "troupe.db"));
    database.exec("UPDATE event SET body = replace(body, 'not yet', 'too late') WHERE body LIKE '%not yet%'");
    database.close();
    const broken = join(folder, "broken.jsonl");
    const told = await troupe("export", broken, "--data", data);
    assert.equal(told.code, 5);
    assert.match(told.stderr, /tally\/waiting, event 1: The body of event 1 was changed/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("broken")),
      [],
    );
    assert.equal((await troupe("export", broken, "--data", join(folder, "nowhere"))).code, 4);
  });
});
