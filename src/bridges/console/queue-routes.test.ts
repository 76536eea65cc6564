import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../../core/actor/index.ts";
import { isJsonObject } from "../../core/contract/index.ts";
import { memoryStore, sqliteStore } from "../../core/store/index.ts";
import { storeReader } from "../operate/index.ts";
import { type ConsoleClient, itemsIn, servedConsole, textOf } from "./served.fixture.ts";

const bell = actor("bell", {
  description: "A bell that breaks when it is struck.",
  per: "shared",
  state: z.object({ struck: z.number().default(0) }),
  messages: {
    strike: {
      input: z.object({ how: z.string(), code: z.string() }),
      secret: ["code"],
      run({ args }) {
        throw new Error(`It broke: ${args.how}`);
      },
    },
    toll: {
      run({ state }) {
        state.struck += 1;
      },
    },
  },
  tools: {
    ring: {
      description: "Strikes another bell.",
      input: z.object({ how: z.string().default("hard") }),
      run({ send, args: { how } }) {
        send({ to: "bell/other", action: "strike", args: { how, code: "9876" } });
      },
    },
    later: {
      description: "Tolls later.",
      run({ wake, self }) {
        const message = { to: self, action: "toll", args: {} };
        wake("noon", { at: 4_000_000_000_000, message, everyMs: 1_000 });
        wake("dawn", { at: 3_900_000_000_000, message });
      },
    },
  },
});

test("a dead letter has the request that it began with, no secrets, and can be replayed and dropped", async () => {
  await using store = memoryStore();
  await using served = await servedConsole({ kinds: [bell], store });
  const { client, engine } = served;
  await engine.call({ to: "bell/main", action: "tools/ring", args: {}, viewer: { principal: "ada", scopes: [] } });
  const find = async () => itemsIn(await client.read("/letters"))[0];
  let letter = await find();
  while (letter === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    letter = await find();
  }
  assert.deepEqual([letter["to"], letter["action"], letter["from"], letter["replays"]], ["bell/other", "strike", "bell/main", 0]);
  assert.deepEqual(letter["args"], { how: "hard", code: "[redacted]" });
  const { root } = letter;
  assert.ok(isJsonObject(root), JSON.stringify(letter));
  assert.deepEqual([root["actor"], root["type"], root["principal"]], ["bell/main", "tools/ring", "ada"]);
  const id = JSON.stringify(letter["id"]).slice(1, -1);
  assert.equal((await client.post(`/letters/${id}`, { fate: "burn" })).status, 400);
  assert.equal((await client.post(`/letters/${id}`, { fate: "drop" })).status, 200);
  assert.deepEqual(itemsIn(await client.read("/letters")), []);
  assert.equal((await client.post(`/letters/${id}`, { fate: "replay" })).status, 404);
  assert.deepEqual(itemsIn(await client.read("/outbox")), []);
});

test("timers come soonest first, with what they will do, in pages", async () => {
  await using store = memoryStore();
  await using served = await servedConsole({ kinds: [bell], store });
  const { client, engine } = served;
  for (const key of ["a", "b", "c"]) await engine.call({ to: `bell/${key}`, action: "tools/later", args: {} });
  const all = itemsIn(await client.read("/timers", { kind: "bell" }));
  assert.deepEqual(all.map(({ actor: of, name }) => [of, name]).slice(0, 3), [
    ["bell/a", "dawn"],
    ["bell/b", "dawn"],
    ["bell/c", "dawn"],
  ]);
  assert.ok(isJsonObject(all[0]) && isJsonObject(all[0]["setBy"]));
  assert.deepEqual([all[0]["setBy"]["type"], all[0]["setBy"]["id"]], ["tools/later", all[0]["cause"]]);
  const noon = all.find(({ name }) => name === "noon");
  if (noon !== undefined) assert.deepEqual([noon["action"], noon["everyMs"], noon["at"]], ["toll", 1_000, 4_000_000_000_000]);
  const first = await client.read("/timers", { limit: "2" });
  assert.equal(itemsIn(first).length, 2);
  const next = typeof first["next"] === "string" ? first["next"] : "";
  const second = itemsIn(await client.read("/timers", { limit: "2", after: next }));
  assert.equal(second[0]?.["actor"], "bell/c");
  assert.deepEqual(itemsIn(await client.read("/timers", { kind: "none" })), []);
  assert.equal((await client.get("/timers", { after: "x" })).status, 400);
});

const guest = actor("guest", {
  description: "Leaves after an hour.",
  per: "link",
  state: z.object({ n: z.number().default(0) }),
  expireMs: 3_600_000,
  messages: { ring: { run() {} } },
  tools: {
    stay: { description: "Stays longer.", run: ({ state }) => (state.n += 1) },
    alarm: {
      description: "Set timers, one of them at the same time as those of others.",
      run({ state, wake, messages }) {
        state.n += 1;
        wake("in a minute", { afterMs: 60_000, message: messages.ring() });
        wake("last", { at: 4_000_000_000_000, message: messages.ring() });
      },
    },
  },
});

/** Reads all pages of so many timers. */
async function checkPages(client: ConsoleClient, limit: number, count: number): Promise<void> {
  const found = new Set<string>();
  const times: number[] = [];
  for (let after: string | undefined = ""; after !== undefined;) {
    const page = await client.read("/timers", { limit: String(limit), after });
    const items = itemsIn(page);
    assert.ok(items.length <= limit);
    for (const { actor: of, name, at } of items) {
      found.add(`${textOf(of)} ${textOf(name)}`);
      times.push(Number(at));
    }
    after = page["next"] === undefined ? undefined : textOf(page["next"]);
  }
  assert.deepEqual([found.size, times.length], [count, count]);
  assert.deepEqual(
    times,
    times.toSorted((one, other) => one - other),
  );
}

test("pages of timers have each timer once, soonest first, also those of an actor on an earlier page", async () => {
  await using store = memoryStore();
  await using served = await servedConsole({ kinds: [guest], store });
  for (let n = 0; n < 30; n += 1) await served.engine.call({ to: guest.id(String(n)), action: "tools/alarm", args: {}, start: null });
  for (const limit of [200, 90, 50, 7]) await checkPages(served.client, limit, 90);
});

test("pages of timers have each expiry once, soonest first, where a store is only read", async () => {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "troupe-timers-"));
  const directory = temporary.path;
  {
    await using store = sqliteStore({ directory });
    await using served = await servedConsole({ kinds: [guest], store });
    const order = Array.from({ length: 10 }, (_, n) => String(n));
    // The store finds each by its first message, since the time of its last is not in the index of what is due.
    for (const key of [...order, ...order.toReversed()]) {
      await served.engine.call({ to: guest.id(key), action: "tools/stay", args: {}, start: null });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  await using store = sqliteStore({ directory, readOnly: true });
  await using offline = await servedConsole({ kinds: [], isOffline: true, more: { reader: storeReader(store) } });
  for (const limit of [200, 10, 7, 1]) await checkPages(offline.client, limit, 10);
});

test("a memory engine lists neither timers nor an outbox, and says so", async () => {
  await using served = await servedConsole({ kinds: [] });
  for (const path of ["/timers", "/outbox"]) {
    const { status, body } = await served.client.get(path);
    assert.deepEqual([status, isJsonObject(body["error"]) && body["error"]["code"]], [409, "NOT_AVAILABLE"], path);
  }
});

test("a page of large dead letters ends early, and the next one goes on", async () => {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "troupe-console-"));
  await using store = sqliteStore({ directory: temporary.path });
  for (let n = 0; n < 12; n += 1) {
    const args = { how: "x".repeat(1_000_000), code: "" };
    await store.enqueue({ id: `m${n}`, to: "bell/other", action: "strike", args, at: 1, seed: "00".repeat(16) });
    await store.settle(`m${n}`, "dead", { why: "It broke." });
  }
  assert.ok((await store.letters(100, undefined, new Set())).length < 12, "a store reads a part of them at once");
  await using served = await servedConsole({ kinds: [bell], store });
  const { client } = served;
  const found: string[] = [];
  let pages = 0;
  for (let after = "0"; after !== ""; pages += 1) {
    const page = await client.read("/letters", { after, limit: "200" });
    found.push(...itemsIn(page).map(({ id }) => textOf(id)));
    after = typeof page["next"] === "string" ? page["next"] : "";
  }
  assert.deepEqual([pages, found], [3, Array.from({ length: 12 }, (_, n) => `m${n}`)]);
  assert.equal((await client.read("/overview"))["letters"], 12);
});

test("a graph of causes leaves out the arguments of a large dead letter, and says so", async () => {
  await using store = memoryStore();
  await using served = await servedConsole({ kinds: [bell], store });
  const { client, engine } = served;
  await engine.call({ to: "bell/main", action: "tools/ring", args: { how: "x".repeat(10_000) } });
  let letters = await store.letters(1);
  for (; letters.length === 0; letters = await store.letters(1)) await new Promise((resolve) => setTimeout(resolve, 20));
  const id = letters[0]?.message.id ?? "";
  for (const asked of [id, letters[0]?.message.cause ?? ""]) {
    const { nodes = null } = await client.read(`/events/${asked}/causes`);
    const letter = itemsIn({ items: nodes }).find((node) => node["id"] === id);
    assert.deepEqual([letter?.["args"], letter?.["cut"]], [undefined, true]);
  }
});
