import assert from "node:assert/strict";
import { test } from "node:test";
import { remoteStage } from "../../src/bridges/theater/remote/remote-stage.ts";
import type { StageEvent } from "../../src/bridges/theater/stage.ts";
import { manifestOf, openServer } from "./own-places.ts";

test("a chain that is longer than one answer is told by pages over TCP: its newest, those before, those after, and one by its id", async () => {
  await using server = await openServer();
  await using stage = remoteStage({ port: server.door.port, limits: { events: 20 } });
  const { id } = await stage.start({ manifest: manifestOf("echo") });
  const data = Buffer.alloc(60_000, "x");
  // A whole answer has room for fewer of them.
  for (let at = 0; at < 11; at += 1) {
    await stage.request(id, data, new AbortController().signal);
    if (at % 10 === 0) assert.equal((await stage.events(id, { limit: 1 })).length, 1);
  }

  const pages: StageEvent[][] = [];
  for (let before: string | undefined; ;) {
    const page: readonly StageEvent[] = await stage.events(id, { limit: 30, ...(before === undefined ? {} : { before }) });
    pages.unshift([...page]);
    before = page[0]?.id;
    if (page[0]?.parent === null || page.length === 0) break;
  }
  const all = pages.flat();
  assert.ok(all.length > 20, String(all.length));
  assert.deepEqual(
    all.map(({ parent }) => parent),
    [null, ...all.slice(0, -1).map((event) => event.id)],
  );
  assert.deepEqual(
    all.map(({ children }) => children),
    [...all.slice(1).map((event) => [event.id]), []],
  );

  const first = all[0]?.id ?? "";
  assert.deepEqual(
    (await stage.events(id, { limit: 5, after: first })).map((event) => [event.id, event.children]),
    all.slice(1, 6).map((event) => [event.id, event.children]),
  );
  await using fresh = remoteStage({ port: server.door.port, limits: { events: 2 } });
  assert.deepEqual(await fresh.event(first), all[0]);

  const last = all.at(-1)?.id ?? "";
  await stage.request(id, Buffer.from("one more"), new AbortController().signal);
  const [next] = await stage.events(id, { limit: 5, after: last });
  assert.equal(next?.parent, last);
  await assert.rejects(stage.events(id, { limit: 5, after: "ff".repeat(20) }), { code: "InvalidRequest" });
});
