// slow: fills connections until they are dropped
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, type Gateway, isJsonObject, type Json, systemClock } from "troupe/contract";
import { type HttpLimits, serveHttp, serveTcp } from "troupe/transport";
import { fakeGateway, textOf } from "./fake-gateway.ts";
import { post, rawSocket } from "./raw-socket.ts";
import { eventually } from "./settle.ts";

// More than the system buffers for a client that does not read.
const LONG = JSON.stringify("x".repeat(8_000_000));

async function serve(limits: Partial<HttpLimits>, clock: Clock = systemClock) {
  const logged: Json[] = [];
  const slow = Promise.withResolvers<void>();
  const gateway = fakeGateway({
    async exchange({ body }) {
      if (textOf(body) === '"slow"') await slow.promise;
      return { status: 200, body: textOf(body) === '"long"' ? LONG : textOf(body) };
    },
  });
  const door = await serveHttp({ gateway, limits, clock, log: (_level, data) => void logged.push(data) });
  const dropped = (): string[] => logged.map((data) => JSON.stringify(data)).filter((text) => text.includes("client-dropped"));
  return { gateway, slow, dropped, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

describe("unread answers", () => {
  it("share a limit: the client with the most is dropped, others get theirs", async () => {
    await using server = await serve({ unreadBytes: 60_000_000 });
    await using patient = await rawSocket(server.port);
    patient.socket.pause();
    patient.write(post('"long"'));
    await eventually(() => server.gateway.exchanges.length === 1);
    await using greedy = await rawSocket(server.port);
    greedy.socket.pause();
    greedy.write(post('"long"').repeat(10));
    await eventually(() => server.dropped().length > 0);
    assert.match(server.dropped()[0] ?? "", /"transport":"http","reason":"unread"/);
    patient.socket.resume();
    assert.ok((await patient.until('x"')).includes(LONG));
    await using another = await rawSocket(server.port);
    another.write(post('"long"'));
    await another.until('x"');
    assert.equal(server.dropped().length, 1);
  });

  it("exclude those behind a pending answer", async () => {
    const waits: { readonly ms: number; readonly run: () => void }[] = [];
    const after: Clock["after"] = (ms, run) => {
      const undo = systemClock.after(ms, run);
      if (ms !== 7_777) return undo;
      waits.push({ ms, run });
      return undo;
    };
    await using server = await serve({ blockedMs: 7_777 }, { now: () => systemClock.now(), after });
    await using client = await rawSocket(server.port);
    client.write(post('"slow"') + post('"quick"'));
    await eventually(() => waits.length === 1);
    waits[0]?.run();
    assert.deepEqual(server.dropped(), []);
    assert.equal(waits.length, 2);
    server.slow.resolve();
    const text = await client.until('"quick"');
    assert.ok(text.indexOf('"slow"') > 0 && text.indexOf('"slow"') < text.indexOf('"quick"'));
  });
});

describe("unread lines", () => {
  it("share a limit: the client with the most is dropped, others get theirs", async () => {
    const dropped: Json[] = [];
    const gateway: Pick<Gateway, "connect"> = {
      connect: (channel) => ({ receive: () => channel.send(LONG), close: () => Promise.resolve() }),
    };
    await using door = await serveTcp({
      gateway,
      limits: { unreadBytes: 60_000_000, queuedBytes: 1_000_000_000 },
      log: (_level, data) => isJsonObject(data) && data["event"] === "client-dropped" && dropped.push(data),
    });
    await using patient = await rawSocket(door.port);
    patient.socket.pause();
    patient.write("{}\n");
    await using greedy = await rawSocket(door.port);
    greedy.socket.pause();
    greedy.write("{}\n".repeat(10));
    await eventually(() => dropped.length > 0);
    assert.deepEqual(dropped, [{ event: "client-dropped", transport: "tcp", reason: "unread" }]);
    patient.socket.resume();
    await eventually(() => patient.socket.bytesRead > LONG.length);
    for (let n = 0; n < 10; n += 1) {
      await using another = await rawSocket(door.port);
      another.write("{}\n");
      // Together more than the limit: answers that were read are no longer counted.
      await eventually(() => another.socket.bytesRead > LONG.length);
    }
    assert.equal(dropped.length, 1);
  });
});
