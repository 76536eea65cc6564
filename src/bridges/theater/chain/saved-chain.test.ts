import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { TheaterEvent } from "../stage.ts";
import { hexOf } from "../wire/events.ts";
import { wasmCall } from "./actor-events.ts";
import { link } from "./link.ts";
import { loadChain, saveChain } from "./saved-chain.ts";

const ACTOR = "0c7e6f1a-0000-4000-8000-000000000001";

function chainOf(length: number): readonly TheaterEvent[] {
  const events: TheaterEvent[] = [];
  for (let at = 0; at < length; at += 1) events.push(link(wasmCall("tally.add", Uint8Array.of(at)), events.at(-1)?.hash ?? null, at));
  return events;
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-chains-"));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

const eventFile = (directory: string, event: TheaterEvent | undefined): string =>
  join(directory, "events", hexOf(event?.hash ?? new Uint8Array(0)));

void test("a saved chain is read back, and saving it again writes only new events", async (t) => {
  const directory = await temporaryFolder(t);
  const events = chainOf(5);
  await saveChain(directory, ACTOR, events.slice(0, 3));
  assert.deepEqual(await loadChain(directory, ACTOR), { events: events.slice(0, 3) });
  await saveChain(directory, ACTOR, events);
  assert.deepEqual(await loadChain(directory, ACTOR), { events });
  assert.deepEqual((await readdir(join(directory, "events"))).toSorted(), events.map(({ hash }) => hexOf(hash)).toSorted());
  assert.deepEqual(await readdir(join(directory, "chains")), [ACTOR]);
});

void test("files have Theater's format: an event's JSON, the head's hash as a list", async (t) => {
  const directory = await temporaryFolder(t);
  const [event] = chainOf(1);
  await saveChain(directory, ACTOR, chainOf(1));
  const head: unknown = JSON.parse(await readFile(join(directory, "chains", ACTOR), "utf8"));
  assert.deepEqual(head, Array.from(event?.hash ?? []));
  const file: unknown = JSON.parse(await readFile(eventFile(directory, event), "utf8"));
  assert.ok(typeof file === "object" && file !== null);
  assert.deepEqual(Object.keys(file), ["hash", "parent_hash", "event_type", "data", "timestamp", "description"]);
  await saveChain(directory, ACTOR, []);
  assert.equal(await readFile(join(directory, "chains", ACTOR), "utf8"), "null");
  assert.deepEqual(await loadChain(directory, ACTOR), { events: [] });
});

void test("events are written as they come, and the head only for a whole chain", async (t) => {
  const directory = await temporaryFolder(t);
  const events = chainOf(3);
  const written: number[] = [];
  async function* coming() {
    for (const event of events) {
      written.push((await readdir(join(directory, "events"))).length);
      yield event;
    }
    throw new Error("The store is away.");
  }
  await assert.rejects(saveChain(directory, ACTOR, coming()), /away/);
  assert.deepEqual(written, [0, 1, 2]);
  assert.equal(await loadChain(directory, ACTOR), undefined);
});

void test("an unsaved chain is undefined, and an id that is no UUID is refused", async (t) => {
  const directory = await temporaryFolder(t);
  assert.equal(await loadChain(directory, ACTOR), undefined);
  await assert.rejects(loadChain(directory, "../../etc/passwd"), /is not a UUID/);
  await assert.rejects(saveChain(directory, "../x", []), /is not a UUID/);
  assert.deepEqual(await readdir(directory), []);
});

void test("an event that is absent, changed, a link or too large is missing", async (t) => {
  const events = chainOf(3);
  const [, second, third] = events;
  const damage: readonly (readonly [(file: string) => Promise<unknown>, RegExp])[] = [
    [(file) => rm(file), /not there/],
    [(file) => writeFile(file, "{}"), /event\.hash must be/],
    [(file) => truncate(file, 10), /not JSON/],
    [(file) => writeFile(file, "[".repeat(100)), /deep/],
    [async (file) => writeFile(file, (await readFile(file, "utf8")).replace('"timestamp":1', '"timestamp":2')), /another hash/],
    [async (file) => writeFile(file, (await readFile(file, "utf8")).padEnd(5_000)), /5000 bytes, and 4000/],
    [async (file) => (await rm(file), symlink("/dev/zero", file)), /a link/],
    [async (file) => (await rm(file), mkdir(file)), /is none/],
  ];
  for (const [break_, words] of damage) {
    const directory = await temporaryFolder(t);
    await saveChain(directory, ACTOR, events);
    await break_(eventFile(directory, second));
    const loaded = await loadChain(directory, ACTOR, { fileBytes: 4_000, bytes: 100_000 });
    assert.deepEqual(loaded?.events, [third]);
    assert.equal(loaded.missing?.hash, hexOf(second?.hash ?? new Uint8Array(0)));
    assert.match(loaded.missing.why, words);
  }
});

void test("the size of all files is bounded, and an invalid head is refused", async (t) => {
  const directory = await temporaryFolder(t);
  await saveChain(directory, ACTOR, chainOf(50));
  const loaded = await loadChain(directory, ACTOR, { fileBytes: 4_000, bytes: 3_000 });
  assert.ok(loaded !== undefined && loaded.events.length > 0 && loaded.events.length < 50);
  assert.match(loaded.missing?.why ?? "", /are read at most/);
  await writeFile(join(directory, "chains", ACTOR), "[1,2]");
  await assert.rejects(loadChain(directory, ACTOR), /20 bytes of a hash/);
});
