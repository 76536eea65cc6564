import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import { isJsonObject, REDACTED } from "../../core/contract/index.ts";
import type { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore, sqliteStore } from "../../core/store/index.ts";
import { storeReader } from "../operate/index.ts";
import { itemsIn, servedConsole, textOf } from "./served.fixture.ts";

const note = actor("note", {
  description: "A note.",
  per: "link",
  state: z.object({ text: z.string().default(""), stars: z.number().default(0) }),
  tools: {
    write: {
      description: "Write it.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.text = args.text;
        state.stars += 1;
      },
    },
    remind: {
      description: "Set a timer.",
      input: z.object({ password: z.string() }),
      secret: ["password"],
      run: ({ args, wake, messages }) => wake("reminder", { afterMs: 3_600_000, message: messages.ring({ password: args.password }) }),
    },
    crash: {
      description: "Throw.",
      run() {
        throw new Error("broken");
      },
    },
  },
  messages: { ring: { input: z.object({ password: z.string() }), secret: ["password"], run() {} } },
  restart: { max: 1, withinMs: 60_000 },
});
const starred = index(note, { name: "starred", pick: ["text", "stars"], order: "stars", text: ["text"] });

const write = (key: string, text: string) => ({ to: note.id(key), action: "tools/write", args: { text }, start: null });

async function served(store = memoryStore()) {
  const at = await servedConsole({ kinds: [note], indexes: [starred], store });
  for (const key of ["a", "b", "c/d"]) await at.engine.call(write(key, `text of ${key}`));
  return at;
}

/** Crashes as often as it takes. */
async function fail(engine: LocalEngine, key: string): Promise<void> {
  for (let times = 0; times < 2; times += 1)
    await assert.rejects(engine.call({ to: note.id(key), action: "tools/crash", args: {} }), { code: "CRASHED" });
}

const ids = (body: Parameters<typeof itemsIn>[0]): readonly unknown[] => itemsIn(body).map(({ id }) => id);

describe("the list of actors", () => {
  test("is paged in the order of ids, and says what it knows of each", async () => {
    await using at = await served();
    const first = await at.client.read("/actors", { limit: "2" });
    assert.deepEqual(ids(first), ["note/a", "note/b"]);
    assert.equal(first["total"], 3);
    const rest = await at.client.read("/actors", { limit: "2", after: textOf(first["next"]) });
    const [{ lastAt, ...last } = {}, ...others] = itemsIn(rest);
    assert.deepEqual([last, others], [{ id: "note/c%2Fd", kind: "note", key: "c/d", status: "live", seq: 1 }, []]);
    assert.ok(Number(lastAt) > 0, "the time of its last event");
    assert.equal(rest["next"], undefined);
  });

  test("is paged and searched by ids of any length", async () => {
    await using at = await served();
    const long = ["a", "b", "c"].map((last) => note.id("日本語".repeat(28) + last));
    for (const to of long) await at.engine.call({ to, action: "tools/write", args: { text: "x" }, start: null });
    const page = await at.client.read("/actors", { kind: "note", limit: "2" });
    const rest = await at.client.read("/actors", { kind: "note", limit: "100", after: textOf(page["next"]) });
    const found = new Set([...ids(page), ...ids(rest)]);
    assert.deepEqual(
      long.filter((id) => !found.has(id)),
      [],
    );
    assert.equal((await at.client.get("/actors", { search: textOf(long[0]) })).status, 200);
  });

  test("finds text in ids, decoded or not, and actors of a status", async () => {
    await using at = await served();
    assert.deepEqual(ids(await at.client.read("/actors", { search: "C/D" })), ["note/c%2Fd"]);
    assert.deepEqual(ids(await at.client.read("/actors", { search: "%2f" })), ["note/c%2Fd"]);
    await at.engine.stop(note.id("b"), "over");
    await fail(at.engine, "a");
    assert.deepEqual(ids(await at.client.read("/actors", { status: "stopped" })), ["note/b"]);
    assert.deepEqual(ids(await at.client.read("/actors", { status: "failed" })), ["note/a"]);
    assert.deepEqual(ids(await at.client.read("/actors", { status: "live", kind: "note" })), ["note/c%2Fd"]);
    assert.deepEqual(ids(await at.client.read("/actors", { kind: "none" })), []);
  });

  test("a search that finds nothing ends, and goes on from there", async () => {
    const many = Array.from({ length: 45_000 }, (_, n) => ({
      id: note.id(String(n).padStart(6, "0")),
      seq: 1,
      head: "",
      status: "live" as const,
    }));
    const store = memoryStore();
    await using at = await servedConsole({
      kinds: [note],
      store,
      more: {
        reader: {
          ...storeReader(store),
          state: async (id) =>
            id === "note/044999"
              ? { uid: "", seq: 1, head: "", status: "live", version: 1, createdAt: 0, lastMessageAt: 0, messageCount: 0, state: null }
              : undefined,
          list: async ({ after = "", limit }) => {
            const from = many.findIndex(({ id }) => id > after);
            return from < 0 ? [] : many.slice(from, from + limit);
          },
        },
      },
    });
    // Its id is found at once, and once: 44,000 are before it.
    const last = await at.client.read("/actors", { search: "note/044999" });
    assert.deepEqual([ids(last), last["examined"]], [["note/044999"], 20_000]);
    let after: string | undefined;
    const pages: unknown[] = [];
    const found: unknown[] = [];
    do {
      const page = await at.client.read("/actors", { search: "044", ...(after !== undefined && { after }), limit: "1000" });
      pages.push(page["examined"]);
      found.push(...ids(page));
      after = typeof page["next"] === "string" ? page["next"] : undefined;
    } while (after !== undefined);
    assert.ok(pages.length >= 3);
    assert.equal(found.length, many.filter(({ id }) => id.includes("044")).length);
    assert.equal(new Set(found).size, found.length);
  });

  test("an index filters, orders and searches texts", async () => {
    await using at = await served();
    await at.engine.call(write("a", "twice now"));
    const ordered = await at.client.read("/actors", { index: "starred", order: "desc", limit: "2" });
    assert.deepEqual(ids(ordered).at(0), "note/a");
    assert.deepEqual(itemsIn(ordered)[0]?.["fields"], { text: "twice now", stars: 2 });
    assert.equal(
      ids(await at.client.read("/actors", { index: "starred", order: "desc", limit: "2", after: textOf(ordered["next"]) })).length,
      1,
    );
    assert.deepEqual(ids(await at.client.read("/actors", { index: "starred", where: '{"stars":{"gte":2}}' })), ["note/a"]);
    assert.deepEqual(ids(await at.client.read("/actors", { index: "starred", text: "twice" })), ["note/a"]);
    assert.equal((await at.client.get("/actors", { index: "none" })).status, 404);
    const wrong = await at.client.get("/actors", { index: "starred", where: '{"nothing":1}' });
    assert.deepEqual([wrong.status, Object(wrong.body["error"]).code], [400, "BAD_QUERY"]);
  });

  test("wrong parameters are refused with a sentence", async () => {
    await using at = await served();
    for (const query of [
      { limit: "0" },
      { limit: "1001" },
      { limit: "x" },
      { status: "gone" },
      { after: "no id" },
      { search: "x".repeat(8_193) },
    ]) {
      const { status, body } = await at.client.get("/actors", { ...query });
      assert.deepEqual([status, Object(body["error"]).code], [400, "BAD_REQUEST"], JSON.stringify(query));
    }
    assert.equal((await at.client.get("/actors", { index: "starred", where: "[1]" })).status, 400);
  });
});

describe("one actor in detail", () => {
  test("has its state, chain and timers, without secrets", async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-console-"));
    await using store = sqliteStore({ directory: directory.path });
    await using at = await served(store);
    await at.engine.call({ to: note.id("a"), action: "tools/remind", args: { password: "hunter2hunter2" } });
    const body = await at.client.read("/actors/note/a");
    const { id, key, seq, status, state, messageCount, persistence, pending, children, queued } = body;
    assert.deepEqual(
      { id, key, seq, status, state, messageCount, persistence, pending, children, queued },
      {
        id: "note/a",
        key: "a",
        seq: 2,
        status: "live",
        state: { text: "text of a", stars: 1 },
        messageCount: 2,
        persistence: "disk",
        pending: 0,
        children: [],
        queued: 0,
      },
    );
    const [timer] = Array.isArray(body["timers"]) ? body["timers"] : [];
    assert.ok(isJsonObject(timer));
    assert.deepEqual([timer["name"], timer["action"], timer["args"]], ["reminder", "ring", { password: REDACTED }]);
    assert.ok(!JSON.stringify(body).includes("hunter2"));
  });

  test("of very many children the first thousand are listed, and all are counted", async () => {
    const children = Array.from({ length: 1_200 }, (_, n) => note.id(`child-${n}`));
    const store = memoryStore();
    const reader = { ...storeReader(store), children: async () => children };
    await using at = await servedConsole({ kinds: [note], store, more: { reader } });
    await at.engine.call({ to: note.id("a"), action: "tools/remind", args: { password: "hunter2hunter2" }, start: null });
    const body = await at.client.read("/actors/note/a");
    assert.deepEqual([body["children"], body["childCount"]], [children.slice(0, 1_000), 1_200]);
  });

  test("what the console fails with is reported to the server, and the client learns only that it failed", async () => {
    const faults: unknown[] = [];
    const broken = new TypeError("the disk said something private");
    const more = {
      reader: { ...storeReader(memoryStore()), state: () => Promise.reject(broken) },
      onFault: (error: unknown) => void faults.push(error),
    };
    await using at = await servedConsole({ kinds: [note], store: memoryStore(), more });
    const { status, body } = await at.client.get("/actors/note/a");
    assert.deepEqual([status, Object(body["error"]).code], [500, "INTERNAL"]);
    assert.doesNotMatch(JSON.stringify(body), /private/);
    assert.deepEqual(faults, [broken]);
  });

  test("a key is decoded once, and a missing actor is 404", async () => {
    await using at = await served();
    assert.equal((await at.client.read("/actors/note/c%2Fd"))["key"], "c/d");
    assert.equal((await at.client.get("/actors/note/c%252Fd")).status, 404);
    assert.equal((await at.client.get("/actors/note/none")).status, 404);
    assert.equal((await at.client.get("/actors/NOTE/a")).status, 400);
    assert.equal((await at.client.get(`/actors/note/${"x".repeat(300)}`)).status, 400);
  });

  test("a failed actor says why, and where nothing runs timers hide arguments that may be secret", async () => {
    const store = memoryStore();
    await using at = await served(store);
    await at.engine.call({ to: note.id("a"), action: "tools/remind", args: { password: "hunter2hunter2" } });
    await fail(at.engine, "b");
    const failed = await at.client.read("/actors/note/b");
    assert.deepEqual([failed["status"], Object(failed["failure"]).code], ["failed", "ACTOR_FAILED"]);
    await using offline = await servedConsole({ kinds: [], isOffline: true, more: { reader: storeReader(store) } });
    const body = await offline.client.read("/actors/note/a");
    assert.deepEqual(Object(body["timers"])[0].args, REDACTED);
    assert.equal(body["queued"], undefined);
  });

  test("actors in memory are listed and read, though no store has them", async () => {
    const spark = actor("spark", {
      description: "In memory.",
      persistence: "memory",
      state: z.object({ n: z.number().default(0) }),
      tools: { add: { description: "Count on.", run: ({ state }) => (state.n += 1) } },
    });
    await using at = await servedConsole({ kinds: [spark] });
    for (const key of ["x", "y"]) await at.engine.call({ to: spark.id(key), action: "tools/add", args: {}, start: null });
    assert.deepEqual(ids(await at.client.read("/actors")), ["spark/x", "spark/y"]);
    const body = await at.client.read("/actors/spark/x");
    assert.deepEqual([body["state"], body["persistence"], body["seq"]], [{ n: 1 }, "memory", 1]);
    assert.equal(itemsIn(await at.client.read("/actors/spark/x/events")).length, 1);
    assert.equal((await at.client.get("/actors/spark/x/state", { at: "9" })).status, 409);
  });

  test("a state of more than 4 MiB is left out", async () => {
    const store = memoryStore();
    await using _ = await served(store);
    const stored = storeReader(store);
    const large = "x".repeat(5 * 1_048_576);
    await using huge = await servedConsole({
      kinds: [note],
      store,
      more: { reader: { ...storeReader(store), state: async (id) => ({ ...((await stored.state(id)) ?? assert.fail()), state: large }) } },
    });
    const body = await huge.client.read("/actors/note/a");
    assert.deepEqual([body["state"], body["stateTooLarge"]], [null, true]);
    assert.equal((await huge.client.get("/actors/note/a/state")).status, 409);
  });

  test("differences of more than 4 MiB are refused", async () => {
    const wide = actor("wide", {
      description: "Has a large state.",
      per: "shared",
      maxStateBytes: 8 * 1_048_576,
      state: z.object({ text: z.string().default(""), n: z.number().default(0), names: z.record(z.string(), z.number()).default({}) }),
      tools: {
        name: {
          description: "Give it long names.",
          run({ state }) {
            for (let n = 0; n < 500; n += 1) state.names[`${n}${"x".repeat(10_000)}`] = n;
          },
        },
        fill: { description: "Fill it.", run: ({ state }) => void (state.text = "x".repeat(5 * 1_048_576)) },
        add: { description: "Count on.", run: ({ state }) => (state.n += 1) },
      },
    });
    await using at = await servedConsole({ kinds: [wide], store: memoryStore() });
    for (const tool of ["fill", "add"]) await at.engine.call({ to: wide.id("main"), action: `tools/${tool}`, args: {} });
    const { status, body } = await at.client.get("/actors/wide/main/diff", { from: "0" });
    assert.deepEqual([status, Object(body["error"]).code], [409, "NOT_AVAILABLE"]);
    const { differences } = await at.client.read("/actors/wide/main/diff");
    assert.deepEqual(differences, [{ path: "/n", before: 0, after: 1 }]);
    await at.engine.call({ to: wide.id("other"), action: "tools/name", args: {} });
    assert.equal((await at.client.get("/actors/wide/other/diff", { from: "0" })).status, 409, "names count, too");
  });
});
