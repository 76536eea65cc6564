// Actors leave for a Restate server and come back, on a real one.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readDump, verify, writeDump } from "../../src/core/chain/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { sqliteExporter, sqliteImporter, sqliteStore } from "../../src/core/store/index.ts";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { chainOf, ChainWriter, exportedBy, messageTo, tallyKind, transferSuite } from "../../src/testing/conformance/index.ts";
import {
  systemClock,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Engine,
  type Exporter,
  type Importer,
  type Json,
  type Row,
} from "../../src/core/contract/index.ts";
import {
  isRestateSdk,
  RestateEngine,
  restateExporter,
  restateImporter,
  resumeImported,
  type TransferOptions,
} from "../../src/hosts/restate/index.ts";
import { CHILD, DUE, FORK, KEYED, kinds, LIVES, MAIN, makeWorld, OLD, OTHER, PARENT, WAITING, WAKE_MS } from "../cli/export-world.ts";
import { lines, troupe } from "../cli/run.ts";
import { at } from "../wire.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

let server: RestateServer;
let sdk: unknown;
const secret = Buffer.alloc(32, "the cluster's secret");

before(async () => {
  const installed = await install();
  sdk = installed.sdk;
  server = await RestateServer.start(installed.server);
});

after(() => server?.[Symbol.asyncDispose]());

let places = 0;
const COUNTS = { actors: 8, events: 216, calls: 3, messages: 2, letters: 1 };

/** A place of its own on the server, and a node for it. */
async function openPlace(
  served: readonly Behaviour[],
  prefix = `m${(places += 1)}-`,
): Promise<{ readonly engine: RestateEngine; readonly options: TransferOptions }> {
  assert.ok(isRestateSdk(sdk));
  const options = { ingress: server.ingress, admin: server.admin, secret, prefix };
  const engine = await RestateEngine.start({ ...options, sdk, kinds: served });
  await server.register(engine.url);
  return { engine, options };
}

transferSuite("a Restate server, left and come to", async () => {
  const { engine, options } = await openPlace(["a", "a-b", "door"].map((kind) => tallyKind(kind)));
  return {
    importer: (clock) => restateImporter({ ...options, clock }),
    exporter: (clock) => restateExporter({ ...options, clock }),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
});

/** What stays the same from one export to the next: all but the moment. */
const restOf = (text: string): string => text.slice(text.indexOf("\n"));

async function exportOf(exporter: Exporter): Promise<string> {
  await using open = exporter;
  let text = "";
  for await (const line of writeDump(open)) text += `${line}\n`;
  return text;
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Dies before its nth step, as a process does: nothing it holds is given back. */
function dying(importer: Importer, steps: number): Importer {
  let left = steps;
  const step = <T>(run: () => Promise<T>): Promise<T> => ((left -= 1) < 0 ? Promise.reject(new Error("The import has died.")) : run());
  return {
    actor: (actor) =>
      step(async () => {
        const arrival = await importer.actor(actor);
        return (
          arrival && {
            event: (event, full) => step(() => arrival.event(event, full)),
            call: (call) => step(() => arrival.call(call)),
            commit: (state) => step(() => arrival.commit(state)),
            abort: () => step(() => arrival.abort()),
          }
        );
      }),
    message: (message) => step(() => importer.message(message)),
    letter: (letter) => step(() => importer.letter(letter)),
    flush: () => step(() => importer.flush()),
    [Symbol.asyncDispose]: () => importer[Symbol.asyncDispose](),
  };
}

async function restRow(options: TransferOptions, id: ActorId): Promise<Row | undefined> {
  await using exporter = restateExporter(options);
  return (await exportedBy(exporter)).actors.find(({ actor }) => actor.id === id)?.actor.row;
}

const seqOf = async (engine: Engine, id: ActorId): Promise<number> => (await engine.read(id))?.seq ?? 0;
const logOf = async (engine: Engine, id: ActorId): Promise<string> => JSON.stringify((await engine.read(id))?.state ?? null);

test("C4 C5 C7 all of a data directory goes on on a Restate server, and from there in another data directory #cluster.transfer", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-transfer-"));
  try {
    const from = join(folder, "from");
    // Its wake is due in some seconds of the server's own time.
    const clock = new SimulatedClock(systemClock.now() - WAKE_MS + 5_000);
    await makeWorld(from, clock);
    const text = await exportOf(sqliteExporter({ directory: from, clock }));
    const { engine, options } = await openPlace(kinds);
    await using _node = engine;
    const take = (importer: Importer) => readDump(bytesOf(text), async () => importer);

    for (const steps of [1, 20, 31, 120]) await assert.rejects(take(dying(restateImporter(options), steps)), /has died/);
    assert.equal(await engine.read(OLD), undefined);
    await assert.rejects(engine.call({ to: OLD, action: "add", args: null, start: null }), { code: "ACTOR_FAILED" });
    await assert.rejects(take(dying(restateImporter(options), 213)), /has died/);
    assert.deepEqual([await seqOf(engine, OLD), await engine.read(WAITING)], [202, undefined]);
    const { read, there } = await take(restateImporter(options));
    assert.deepEqual([read, there.actors], [COUNTS, 7]);
    assert.equal(restOf(await exportOf(restateExporter({ ...options, clock }))), restOf(text), "nothing moves yet");

    const left = new Map<ActorId, readonly ChainEvent[]>();
    for (const { id } of await engine.list({ limit: 100 })) left.set(id, await chainOf(engine, id));
    assert.equal(left.size, COUNTS.actors);
    await resumeImported(options);
    await until("what waited is delivered, in order", async () => /"out\.1","out\.2"/.test(await logOf(engine, MAIN)));
    assert.deepEqual(await engine.call(KEYED, { key: "order-1" }), { ok: 3 });
    await assert.rejects(engine.call({ ...KEYED, args: { by: 9 } }, { key: "order-1" }), { code: "KEY_REUSED" });
    assert.equal(await engine.keyed("tally", DUE.viewer, "due-1"), WAITING);
    const due = engine.call(DUE, { key: "due-1" });
    await engine.call({ to: WAITING, action: "answer", args: { value: "at last" } });
    assert.deepEqual(await due, { ok: "at last" });
    await until("the wake rings by the server's timer", async () => (await seqOf(engine, OTHER)) === 2);
    assert.deepEqual(
      (await engine.letters()).map(({ message }) => message.id),
      ["dead.1"],
    );
    assert.deepEqual(await engine.call({ to: LIVES, action: "add", args: { by: 1 } }), { ok: 4 });
    assert.deepEqual(await engine.call({ to: OLD, action: "add", args: null }), { ok: 2 });
    for (let turn = 0; turn < 40; turn += 1) await engine.call({ to: OLD, action: "add", args: null });
    await engine.call({ to: FORK, action: "send", args: { to: MAIN, action: "add" } });
    await engine.stop(PARENT, "over");
    assert.equal((await engine.read(CHILD))?.status, "stopped");
    assert.equal(await engine.find((await restRow(options, LIVES))?.uid ?? ""), LIVES);
    assert.equal(await engine.count({ kind: "tally" }), 7);

    // The same import again finds all of it there, and sends nothing twice.
    const mainAt = await seqOf(engine, MAIN);
    const again = await take(restateImporter(options));
    assert.deepEqual(again.there, again.read);
    await resumeImported(options);
    assert.equal(await seqOf(engine, MAIN), mainAt);
    for (const [id, events] of left) {
      const chain = await chainOf(engine, id);
      assert.deepEqual(chain.slice(0, events.length), events);
      assert.equal(verify(chain, { actor: id }).flaw, undefined, id);
    }

    const back = await exportOf(restateExporter(options));
    const to = join(folder, "to");
    const later = new SimulatedClock(systemClock.now());
    const { stored } = await readDump(bytesOf(back), async () => sqliteImporter({ directory: to, clock: later }));
    assert.deepEqual([stored.actors, stored.messages, stored.letters], [8, 0, 1]);
    assert.equal(restOf(await exportOf(sqliteExporter({ directory: to, clock: later }))), restOf(back));
    await using store = sqliteStore({ directory: to, clock: later });
    await using local = await LocalEngine.start({ kinds, store, clock: later });
    for (const id of left.keys()) assert.deepEqual(await chainOf(local, id), await chainOf(engine, id));
    assert.deepEqual(await local.call(KEYED, { key: "order-1" }), { ok: 3 });
    assert.deepEqual(await local.call(DUE, { key: "due-1" }), { ok: "at last" });
    assert.deepEqual(await local.call({ to: OLD, action: "add", args: null }), { ok: 43 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("C5 messages on their way are exported in the order they were sent, also those that wait for another or for a time #cluster.transfer", async () => {
  const gate = Promise.withResolvers<void>();
  const { engine, options } = await openPlace([tallyKind("tally", {}, { gate: () => gate.promise })]);
  await using _node = engine;
  await using _gate = { [Symbol.asyncDispose]: async () => gate.resolve() };
  const call = (to: ActorId, action: string, args: Json = null) => engine.call({ to, action, args, start: null });
  await call("tally/busy", "add");
  await call("tally/sender", "send", { to: "tally/busy", action: "work", args: { secret: "hidden" } });
  await call("tally/sender", "send-many", { to: "tally/busy", text: "n", times: 12 });
  const texts = Array.from({ length: 12 }, (_, n) => `n${n}`);
  const waiting = async (more: Partial<TransferOptions> = {}) => {
    await using exporter = restateExporter({ ...options, ...more });
    return (await exportedBy(exporter)).undelivered.map(({ message }) => Object(message.args)["text"]);
  };
  await until("all of them are on their way", async () => (await waiting()).length === 13);
  assert.deepEqual((await waiting()).slice(1), texts);
  const { secret: _secret, ...without } = options;
  await using blind = restateExporter(without);
  await assert.rejects(exportedBy(blind), { name: "StoreError", code: "STORE_CORRUPT" });
  gate.resolve();
  await until("all of them are there", async () => (await waiting()).length === 0 && (await seqOf(engine, "tally/busy")) === 14);
});

test("C4 replies that left an actor's own key are exported beside the newest, by their keys' bytes, and what is due", async () => {
  const { engine, options } = await openPlace([tallyKind("tally")]);
  await using _node = engine;
  const viewer = { principal: "ann", scopes: [] };
  const key = (n: number): string => `${n % 3 === 0 ? "☃" : "\uffff"} ${n}`;
  for (let n = 0; n < 100; n += 1) await engine.call({ to: "tally/a", action: "add", args: null, start: null, viewer }, { key: key(n) });
  void engine.call({ to: "tally/a", action: "later", args: null, viewer }, { key: "due" }).catch(() => undefined);
  await until("the call is told later", async () => (await seqOf(engine, "tally/a")) === 101);
  await using exporter = restateExporter(options);
  const [exported] = (await exportedBy(exporter)).actors;
  const wanted = Array.from({ length: 100 }, (_, n) => ({ key: `ann\n${key(n)}`, reply: { ok: n + 1 } }));
  wanted.sort((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)));
  const [due, ...calls] = exported?.calls ?? [];
  assert.deepEqual(
    calls.map((call) => ({ key: call.key, reply: call.reply })),
    wanted,
  );
  assert.deepEqual([due?.key, due?.reply], ["ann\ndue", undefined]);
});

test("what cannot be moved says why: a kind that no node serves, a secret that is missing, nodes that are away #cluster.transfer", async () => {
  const { engine, options } = await openPlace([tallyKind("tally")]);
  await using _node = engine;
  const { secret: _secret, ...without } = options;
  await using importer = restateImporter(without);
  const message = messageTo("tally/a", "m.1", { args: { secret: "hidden" } });
  await assert.rejects(importer.message({ message, failures: 0 }), {
    code: "STORE_IO",
    message: /import with the secret that the nodes share/,
  });
  assert.equal(await importer.message({ message: messageTo("nobody/a", "m.2"), failures: 0 }), true);
  const writer = new ChainWriter("nobody/a");
  const { row, seq, event } = writer.next();
  await assert.rejects(importer.actor({ id: "nobody/a", row, seq, head: event.id }), {
    code: "STORE_IO",
    message: /troupe cluster register/,
  });
  await resumeImported(options);
  await until("what nobody takes is a dead letter", async () => (await engine.letters()).length === 1);
  await engine[Symbol.asyncDispose]();
  await using exporter = restateExporter({ ...options, patienceMs: 200 });
  await assert.rejects(exportedBy(exporter), { name: "StoreError", code: "STORE_IO", message: /see that its nodes/ });
});

test("troupe import and export move a cluster #cluster.transfer", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-transfer-"));
  try {
    const clock = new SimulatedClock(systemClock.now());
    await makeWorld(join(folder, "from"), clock);
    const { engine } = await openPlace(kinds, "");
    await using _node = engine;
    const place = ["--engine", `${server.ingress.replace("http", "restate")}?admin=${server.admin}`];
    const key = join(folder, "secret");
    writeFileSync(key, secret.toString("hex"));
    const [one, other] = [join(folder, "one.jsonl.gz"), join(folder, "other.jsonl.gz")];
    assert.equal((await troupe("export", one, "--data", join(folder, "from"))).code, 0);
    const open = await troupe("import", one, ...place);
    assert.match(open.stderr, /secret that the nodes share.*Imported before it, and whole: 8 actors.*wait until an import/s);
    const told = await troupe("import", one, ...place, "--secret-file", key, "--json");
    assert.equal(told.code, 0, told.stderr);
    assert.equal(at(lines(told.stdout)[0], "there", "actors"), 8);
    await until("what waited is delivered", async () => /"out\.1","out\.2"/.test(await logOf(engine, MAIN)));
    const left = await troupe("export", other, ...place, "--secret-file", key);
    assert.match(left.stdout, /^Exported 8 actors, 218 events, 3 replies, 0 messages, 1 dead letter\.\n$/, left.stderr);
    assert.equal((await troupe("import", other, "--dry-run")).code, 0);
    assert.equal((await troupe("export", other, ...place, "--data", folder)).code, 2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
