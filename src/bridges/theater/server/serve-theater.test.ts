import assert from "node:assert/strict";
import { mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { type Json, TroupeError } from "../../../core/contract/index.ts";
import { until } from "../../../testing/index.ts";
import { MemoryStage } from "./memory-stage.fixture.ts";
import { serveTheater } from "./serve-theater.ts";
import { WireClient } from "./wire-client.fixture.ts";

const refusedAs = (code: string) => (error: unknown) => error instanceof TroupeError && error.code === code;

async function temporaryFolder(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-theater-"));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

void test("listening beyond loopback requires `insecure` and logs a warning", async () => {
  const stage = new MemoryStage();
  await assert.rejects(serveTheater({ stage, host: "0.0.0.0" }), refusedAs("UNSAFE_LISTENER"));
  await assert.rejects(serveTheater({ stage, host: "192.0.2.1" }), refusedAs("UNSAFE_LISTENER"));
  const logged: Json[] = [];
  await using door = await serveTheater({ stage, host: "0.0.0.0", insecure: true, log: (level, data) => logged.push([level, data]) });
  assert.match(JSON.stringify(logged), /"warning",\{"event":"open-listener"/);
  assert.ok(door.port > 0);
});

void test("an invalid port and a port in use are refused by name", async () => {
  const stage = new MemoryStage();
  await assert.rejects(serveTheater({ stage, port: 70_000 }), refusedAs("BAD_OPTION"));
  await using door = await serveTheater({ stage });
  assert.equal(door.url, `tcp://127.0.0.1:${door.port}`);
  await assert.rejects(serveTheater({ stage, port: door.port }), refusedAs("BAD_ADDRESS"));
});

void test("a Unix socket is private to its owner and replaces only a stale one", async (t) => {
  const path = join(await temporaryFolder(t), "theater.sock");
  const stage = new MemoryStage();
  const door = await serveTheater({ stage, path });
  assert.equal(door.url, `unix:${path}`);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  using client = new WireClient(door.url, "raw");
  assert.deepEqual(await client.request("ListActors"), { ActorList: { actors: [] } });
  await assert.rejects(serveTheater({ stage, path }), refusedAs("BAD_ADDRESS"));
  await door.close();

  // As a killed process leaves it: the file stays, and no one answers.
  const killed = createServer();
  await new Promise<void>((done) => killed.listen(`${path}.killed`, done));
  await rename(`${path}.killed`, path);
  await new Promise<void>((done) => killed.close(() => done()));
  const again = await serveTheater({ stage, path });
  await again.close();

  await writeFile(path, "a file");
  await assert.rejects(serveTheater({ stage, path }), refusedAs("BAD_ADDRESS"));
});

void test("close accepts no connections, answers pending commands, then hangs up", async () => {
  const stage = new MemoryStage();
  await stage.start({ manifest: 'name = "echo"' });
  const [id = ""] = stage.actors.keys();
  const door = await serveTheater({ stage });
  using quick = new WireClient(door.url, "raw");
  using slow = new WireClient(door.url, "raw");
  await slow.request("ListActors");
  quick.send({ RequestActorMessage: { id, data: Array.from(Buffer.from("wait")) } });
  await until("the request arrives", () => stage.find(id).received.length === 1);
  const closing = door.close({ graceMs: 60_000 });
  await until("the idle client is disconnected", () => slow.closed);
  using rejected = new WireClient(door.url, "raw");
  await until("the new client is disconnected", () => rejected.closed);
  stage.settle();
  assert.match(JSON.stringify(await quick.next()), /RequestedMessage/);
  await closing;

  const another = await serveTheater({ stage });
  using waiting = new WireClient(another.url, "raw");
  waiting.send({ RequestActorMessage: { id, data: Array.from(Buffer.from("wait")) } });
  await until("the request arrives", () => stage.find(id).received.length === 2);
  await another.close({ graceMs: 1 });
  await until("it was hung up", () => waiting.closed && stage.find(id).received.includes("wait given up"));
});
