import assert from "node:assert/strict";
import { test } from "node:test";
import type { Viewer } from "troupe/contract";
import { createServer } from "troupe/server";
import { cacheResults, countCalls, limitCalls, logCalls } from "./middleware.ts";

const ana = { principal: "ana", scopes: [] };
const bo = { principal: "bo", scopes: [] };

test("logCalls logs the duration and outcome of calls, countCalls counts them #server.around", async () => {
  const counts = new Map<string, number>();
  const lines: unknown[] = [];
  let now = 0;
  await using server = createServer("s", "1", {
    middleware: [
      logCalls(
        (line) => lines.push(line),
        () => now,
      ),
      countCalls(counts),
    ],
    onError: () => undefined,
  });
  server.tools.register({ name: "works" }, () => {
    now += 5;
    return "ok";
  });
  server.tools.register({ name: "fails" }, () => {
    throw new Error("no");
  });
  const clientLog: unknown[] = [];
  await server.source.act(ana, "tools/works", {}, { onLog: (_level, data) => clientLog.push(data) });
  await assert.rejects(server.source.act(ana, "tools/fails", {}, {}));
  assert.deepEqual(Object.fromEntries(counts), { "tools/works": 1, "tools/fails": 1, "tools/fails failed": 1 });
  const [works, fails] = lines.map((line) => JSON.stringify(line));
  assert.match(works ?? "", /^\{"offer":"tools\/works","requestId":"[^"]+","principal":"ana","failed":false,"ms":5\}$/);
  assert.match(fails ?? "", /^\{"offer":"tools\/fails","requestId":"[^"]+","principal":"ana","failed":true,"ms":0\}$/);
  assert.deepEqual(clientLog, []);
});

test("cacheResults caches results for each viewer until they expire #server.around", async () => {
  let now = 0;
  let runs = 0;
  await using server = createServer("s", "1", { middleware: [cacheResults(["tools/cached"], 100, () => now)] });
  server.tools.register({ name: "cached" }, () => (runs += 1));
  const act = async (viewer: Viewer) => server.source.act(viewer, "tools/cached", {}, {});
  assert.deepEqual([await act(ana), await act(ana), await act(bo)], [{ ok: 1 }, { ok: 1 }, { ok: 2 }]);
  assert.deepEqual([await act({ ...ana, scopes: ["more"] }), await act(ana)], [{ ok: 3 }, { ok: 1 }]);
  now = 100;
  assert.deepEqual(await act(ana), { ok: 4 });
});

test("limitCalls refuses a principal that calls too often, and no other #server.around", async () => {
  let now = 0;
  await using server = createServer("s", "1", { middleware: [limitCalls(2, 100, () => now)] });
  server.tools.register({ name: "t" }, () => "ok");
  const act = async (viewer: typeof ana) => server.source.act(viewer, "tools/t", {}, {});
  const refused = { refused: { code: "TOO_OFTEN", message: "That was too often: wait a moment." } };
  assert.deepEqual([await act(ana), await act(ana), await act(ana), await act(bo)], [{ ok: "ok" }, { ok: "ok" }, refused, { ok: "ok" }]);
  now = 100;
  assert.deepEqual(await act(ana), { ok: "ok" });
});
