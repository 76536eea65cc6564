import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isJsonObject, type JsonObject, systemClock } from "../../core/contract/index.ts";
import type { ActorReader } from "../operate/index.ts";
import { errorDocs } from "./error-docs.ts";
import { RecordedServer, textOf } from "./recorded.fixture.ts";

const errorPage = async (): Promise<string> => await readFile(join(import.meta.dirname, "../../../docs/guide/errors.md"), "utf8");

const object = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

const codesIn = (items: readonly JsonObject[]): readonly string[] => items.map(({ code }) => textOf(code));

test("the overview counts actors, requests, clients and turns", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  await server.callIn(session, "open", { code: "1111" });
  await server.call("look");
  const { status, body } = await server.api("/overview");
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body["byKind"], { safe: { live: 1, failed: 0, stopped: 0 } });
  assert.deepEqual(body["actors"], { total: 1, live: 1, failed: 0, inMemory: 1 });
  assert.equal(body["sessions"], 1);
  const { count, p50, max } = object(body["latencyMs"]);
  assert.ok(count === 3 && Number(p50) > 0 && Number(max) >= Number(p50), JSON.stringify(body["latencyMs"]));
  const clients = Array.isArray(body["clients"]) ? body["clients"].map(object) : [];
  assert.deepEqual(
    clients
      .map(({ client, revision, requests }) => [client, revision, requests].map(textOf).join(", "))
      .toSorted((one, other) => one.localeCompare(other)),
    ["new-client 3, 2026-07-28, 1", "old-client 1.2, 2025-11-25, 2"],
  );
  assert.ok(Number(object(body["memory"])["heapBytes"]) > 1_000_000);
});

test("the overview counts actors again after the clock was set back", async () => {
  let now = 10_000_000;
  await using server = await RecordedServer.start({ now: () => now });
  assert.deepEqual((await server.api("/overview")).body["byKind"], { safe: { live: 0, failed: 0, stopped: 0 } });
  await server.call("open", { code: "1111" });
  now -= 3_600_000;
  assert.deepEqual((await server.api("/overview")).body["byKind"], { safe: { live: 1, failed: 0, stopped: 0 } });
});

test("dead letters need attention also when one mistake has crashed many actors", async () => {
  const letter = { message: { id: "m", to: "safe/x", action: "open", args: null, at: 1, seed: "" }, why: "It broke.", at: 1 } as const;
  const none = async () => [];
  const reader: ActorReader = {
    list: none,
    events: none,
    caused: none,
    event: async () => undefined,
    state: async () => undefined,
    letters: async (_, __, except) => (except?.has("m") === true ? [] : [letter]),
  };
  await using server = await RecordedServer.start({ reader });
  for (let n = 0; n < 20; n += 1) server.live.logged("error", "fault", { actor: `safe/${n}`, where: "turn", why: "boom" });
  const { attention = null } = (await server.api("/overview")).body;
  const found = Array.isArray(attention) ? attention.map(object) : [];
  assert.deepEqual(codesIn(found).slice(0, 2), ["DEAD_LETTERS", "CRASHED"]);
});

test("an actor that has failed needs attention also when others have crashed since", async () => {
  const none = async () => [];
  const reader: ActorReader = {
    list: none,
    events: none,
    caused: none,
    event: async () => undefined,
    state: async () => undefined,
    health: (id) => (id === "safe/failed" ? { crashes: [1, 2, 3], failure: "It broke." } : undefined),
  };
  await using server = await RecordedServer.start({ reader });
  const crash = (actor: string): void => server.live.logged("error", "fault", { actor, where: "turn", why: "boom" });
  crash("safe/failed");
  for (const at = systemClock.now(); systemClock.now() === at;) await new Promise((resolve) => setImmediate(resolve));
  for (let n = 0; n < 20; n += 1) crash(`safe/${n}`);
  const { attention = null } = (await server.api("/overview")).body;
  assert.equal(codesIn(Array.isArray(attention) ? attention.map(object) : [])[0], "ACTOR_FAILED");
});

test("a store that lists the same dead letters again is read once", async () => {
  const letter = { message: { id: "m", to: "safe/x", action: "open", args: null, at: 1, seed: "" }, why: "It broke.", at: 1 } as const;
  const none = async () => [];
  let reads = 0;
  const letters = async () => {
    reads += 1;
    if (reads > 20) throw new Error("It is read for ever.");
    return [letter];
  };
  const reader: ActorReader = {
    list: none,
    events: none,
    caused: none,
    event: async () => undefined,
    state: async () => undefined,
    letters,
  };
  await using server = await RecordedServer.start({ reader });
  assert.equal((await server.api("/overview")).body["letters"], 1);
  assert.equal((await server.items("/letters")).length, 1);
});

test("the stream has figures, changes and traffic, and ends with the server", async () => {
  const server = await RecordedServer.start();
  const seen = new Map<string, JsonObject>();
  const reading = (async () => {
    for await (const { event, data } of server.stream("/stream?watch=figures,changes,traffic", AbortSignal.timeout(60_000))) {
      seen.set(event, data);
      if (event === "figures" && seen.size === 1) await server.call("open", { code: "1111" });
      if (seen.has("change") && seen.has("traffic")) await server[Symbol.asyncDispose]();
    }
  })();
  await reading;
  assert.deepEqual(seen.get("change"), { items: [{ id: "safe/main", seq: 1, status: "live" }], more: 0 });
  const { items, more } = seen.get("traffic") ?? {};
  const [row] = Array.isArray(items) ? items.map(object) : [];
  assert.deepEqual([row?.["method"], row?.["name"], row?.["status"], more], ["tools/call", "open", "ok", 0]);
  assert.ok(Number(seen.get("figures")?.["at"]) > 0);
});

test("the stream watches one kind or one actor, and refuses what it does not know", async () => {
  await using server = await RecordedServer.start();
  const ended = new AbortController();
  const changes: JsonObject[] = [];
  const watching = (async () => {
    for await (const { event, data } of server.stream("/stream?watch=changes,figures&actor=safe/other", ended.signal)) {
      if (event === "change") changes.push(data);
      // Figures come after changes of the same moment.
      else if (Number(object(data["actors"])["total"]) > 0) ended.abort();
      else await server.call("open", { code: "1111" });
    }
  })();
  await assert.rejects(watching, { name: "AbortError" });
  assert.deepEqual(changes, []);
  assert.equal((await server.api("/stream?watch=changes&kind=No!")).status, 400);
  for (const query of ["watch=all", "watch=changes&actor=none"]) {
    const events = [];
    for await (const { event, data } of server.stream(`/stream?${query}`, AbortSignal.timeout(60_000)))
      events.push([event, object(data["error"])["code"]]);
    assert.deepEqual(events, [["failed", "BAD_REQUEST"]], query);
  }
});

test("the doctor explains codes that clients were sent by the documentation", async () => {
  await using server = await RecordedServer.start({ errorPage });
  await server.call("open", { code: "wrong" });
  await server.call("nothing");
  await server.call("open", {});
  const items = await server.items("/doctor");
  const unknown = items.find(({ code }) => code === "INVALID");
  assert.match(textOf(unknown?.["title"]), /^Clients were refused: /);
  assert.match(textOf(unknown?.["advice"]), /^The arguments do not fit their schema.*\. Correct the arguments.*\.$/);
  assert.equal(unknown?.["docs"], "https://example.com/docs/errors.md#:~:text=INVALID");
  assert.ok(codesIn(items).includes("WRONG_CODE") && codesIn(items).includes("-32602"));
});

test("the doctor reports faults, slow turns, unwise settings, kinds not served and unfinished indexes, worst first", async () => {
  await using server = await RecordedServer.start({
    settings: { insecure: true, authenticated: false, exposed: true, rateLimited: false, durable: false },
    unserved: () => [{ kind: "old", actors: 3 }],
  });
  const { live } = server;
  live.logged("warn", "turn-slow", { actor: "safe/main", action: "tools/open", ms: 140 });
  live.logged("warn", "turn-slow", { actor: "safe/main", action: "tools/open", ms: 240 });
  live.logged("error", "fault", { where: "turn", actor: "safe/main", error: "TypeError", why: "x is not a function" });
  live.logged("info", "index-building", { index: "by-name", actors: 10, of: 100 });
  live.logged("info", "index-building", { index: "by-age", actors: 10, of: 100 });
  live.logged("info", "index-built", { index: "by-age", actors: 100, of: 100 });
  const items = await server.items("/doctor");
  const slow = items.find(({ code }) => code === "SLOW_TURN");
  assert.deepEqual([slow?.["count"], slow?.["page"]], [2, "/actors/safe/main"]);
  assert.match(textOf(slow?.["title"]), /240 ms/);
  for (const code of ["CRASHED", "INSECURE", "KIND_NOT_SERVED", "NO_RATE_LIMIT", "INDEX_BUILDING", "DEVELOPMENT"])
    assert.ok(codesIn(items).includes(code), `${code} in ${codesIn(items).join(" ")}`);
  assert.equal(items.filter(({ code }) => code === "INDEX_BUILDING").length, 1);
  const levels = items.map(({ level }) => textOf(level));
  assert.deepEqual(
    levels,
    levels.toSorted((one, other) => RANKS.indexOf(one) - RANKS.indexOf(other)),
  );
  const { body } = await server.api("/overview");
  assert.ok(Array.isArray(body["attention"]) && body["attention"].map(object).every(({ level }) => level !== "note"));
});

const RANKS = ["error", "warning", "note"];

test("every code of the documentation's tables is found", async () => {
  const docs = errorDocs(await errorPage());
  for (const code of ["NOT_NOW", "NO_ACTOR", "STORE_FULL", "BAD_OPTION", "-32601"]) {
    const doc = docs.get(code);
    assert.ok(doc !== undefined && doc.when !== "", code);
  }
  assert.ok(docs.size > 60);
  assert.equal(docs.get("NO_ACTOR")?.when.includes("`"), false);
});

test("figures are made once for all who ask in the same second", async () => {
  let asked = 0;
  await using server = await RecordedServer.start({
    disk: async () => {
      asked += 1;
      return { bytes: 4_096 };
    },
    now: () => systemClock.now(),
  });
  const answers = await Promise.all([server.api("/overview"), server.api("/overview"), server.api("/overview")]);
  assert.deepEqual([asked, ...answers.map(({ body }) => object(body["disk"])["bytes"])], [1, 4_096, 4_096, 4_096]);
});

test("a fault is on its actor's page, and needs attention for an hour", async () => {
  let later = 0;
  await using server = await RecordedServer.start({ now: () => systemClock.now() + later });
  await server.call("open", { code: "1111" });
  server.live.logged("error", "fault", { actor: "safe/main", why: "It is broken.", action: "tools/open" });
  const { lastFault, status, lastEventAt } = (await server.api("/actors/safe/main")).body;
  assert.deepEqual([object(lastFault)["why"], object(lastFault)["action"], object(lastFault)["count"]], ["It is broken.", "tools/open", 1]);
  assert.equal(status, "live");
  assert.ok(lastEventAt === undefined || Number(lastEventAt) > 0);
  const titles = async (path: string, member: string): Promise<string> => JSON.stringify((await server.api(path)).body[member]);
  assert.match(await titles("/overview", "attention"), /It is broken/);
  later = 3_700_000;
  assert.doesNotMatch(await titles("/overview", "attention"), /It is broken/);
  assert.match(await titles("/doctor", "items"), /It is broken/);
});

test("a crash counts once, for its own actor, with what its code threw", async () => {
  await using server = await RecordedServer.start();
  const { live } = server;
  const place = "file:///shop/printer.ts:22:36";
  const crash = (actor: string, action: string, thrown: string): void => {
    live.logged("error", "fault", { error: "Error", place, where: "turn", actor, action }, thrown);
  };
  for (let n = 0; n < 3; n += 1) crash("safe/main", "print", "Error: The paper jams");
  const letter = { error: "EngineError", code: "CRASHED", where: "outbox", actor: "safe/main", action: "print", letter: "m.1" };
  live.logged("error", "fault", { ...letter, why: "safe/main crashed at event 1", repeated: true }, "Error: The paper jams");
  crash("bell/tower", "ring", "Error: The bell has no clapper.");
  const found = (await server.items("/doctor")).filter(({ code }) => code === "CRASHED");
  assert.deepEqual(
    // The latest is first, and all of these may be of one millisecond.
    found
      .toSorted((one, other) => textOf(one["title"]).localeCompare(textOf(other["title"])))
      .map(({ title, count, page }) => [title, count, page]),
    [
      ["bell/tower crashed in ring: Error: The bell has no clapper.", 1, "/log?level=error&actor=bell%2Ftower"],
      ["safe/main crashed in print: Error: The paper jams", 3, "/log?level=error&actor=safe%2Fmain"],
    ],
  );
  const [, of] = await server.items("/log?actor=safe%2Fmain");
  assert.equal(object(of?.["fields"])["why"], "Error: The paper jams");
  assert.deepEqual(live.faulted.get("safe/main")?.count, 3);
});

test("a message shows the actor that it reached, and a client its figures after a quiet minute", async () => {
  let later = 0;
  await using server = await RecordedServer.start({ now: () => systemClock.now() + later });
  await server.call("open", { code: "1111" });
  const [row] = await server.items("/traffic?method=tools%2Fcall");
  assert.equal(row?.["actor"], "safe/main");
  const [ms, waited, ran] = [Number(row["ms"]), Number(row["waitedMs"]), Number(row["ranMs"])];
  assert.ok(waited >= 0 && ran >= 0 && waited + ran <= ms + 0.01, `${waited} + ${ran} of ${ms}`);
  assert.equal((await server.items("/traffic?search=safe%2Fmain")).length, 1);
  later = 120_000;
  const [session] = await server.items("/sessions");
  assert.ok(Number(session?.["p50Ms"]) > 0);
  assert.ok(Number(session?.["ranP99Ms"]) >= 0);
});

test("crashes of several actors of a kind for one reason are one finding", async () => {
  await using server = await RecordedServer.start();
  const crash = (actor: string, thrown: string): void =>
    server.live.logged("error", "fault", { error: "Error", where: "turn", actor, action: "print" }, thrown);
  for (let n = 0; n < 30; n += 1) crash(`safe/${n}`, "Error: The paper jams");
  crash("safe/1", "Error: The paper jams");
  crash("safe/other", "Error: There is no ink");
  crash("bell/tower", "Error: The paper jams");
  const found = (await server.items("/doctor")).filter(({ code }) => code === "CRASHED");
  assert.deepEqual(
    new Map(found.map(({ title, count, page }) => [title, [count, page]])),
    new Map([
      ["30 actors of safe crashed in print: Error: The paper jams", [31, "/log?level=error&search=safe%2F"]],
      ["safe/other crashed in print: Error: There is no ink", [1, "/log?level=error&actor=safe%2Fother"]],
      ["bell/tower crashed in print: Error: The paper jams", [1, "/log?level=error&actor=bell%2Ftower"]],
    ]),
  );
});
