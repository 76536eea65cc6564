import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "../../core/contract/index.ts";
import { EventStream } from "./event-stream.ts";

/** More than the system takes in on a loopback connection. */
const MUCH = "x".repeat(12_000_000);

/** A response whose head has been sent, and its client. */
async function openedIn(version: string) {
  const opened = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(200, ["content-type", "text/event-stream", ...(version === "1.1" ? ["transfer-encoding", "chunked"] : [])]);
    response.flushHeaders();
    opened.resolve(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(isAddress(address));
  const client = connect(address.port, "127.0.0.1");
  client.write(`GET / HTTP/${version}\r\nHost: localhost\r\n\r\n`);
  return { server, client, response: await opened.promise };
}

for (const version of ["1.1", "1.0"])
  test(`C8 a stream to a slow client of HTTP/${version} becomes ready each time the client reads`, async () => {
    const { server, client, response } = await openedIn(version);
    let received = 0;
    client.on("data", (piece) => void (received += piece.length));
    const dropped: string[] = [];
    const door = {
      limits: { queuedBytes: 64_000_000 },
      clock: systemClock,
      onDrop: (reason: string) => void dropped.push(reason),
      onEnd() {},
    };
    const stream = new EventStream(response, version === "1.1", door);
    assert.equal(stream.ready, true);
    for (let time = 1; time <= 2; time += 1) {
      client.pause();
      stream.send(MUCH);
      assert.equal(stream.ready, false);
      stream.send("what comes while it waits");
      const ready = Promise.withResolvers<void>();
      const undo = stream.onReady(ready.resolve);
      client.resume();
      await ready.promise;
      undo();
      assert.equal(stream.ready, true);
    }
    const closed = once(client, "close");
    stream.close();
    client.on("end", () => client.end());
    if (version === "1.1") client.end();
    await closed;
    assert.ok(received > 2 * MUCH.length);
    assert.deepEqual(dropped, []);
    server.close();
    server.closeAllConnections();
  });

test("C8 a stream with too much unread output ends, even if the drop listener throws", async () => {
  const { server, client, response } = await openedIn("1.1");
  client.pause();
  const ended: unknown[] = [];
  const door = {
    limits: { queuedBytes: 1_000_000 },
    clock: systemClock,
    onDrop(): never {
      throw new Error("the log");
    },
    onEnd: (stream: unknown) => void ended.push(stream),
  };
  const stream = new EventStream(response, true, door);
  const closed = once(response, "close");
  stream.send(MUCH);
  assert.throws(() => stream.send(MUCH), /the log/);
  stream.evict();
  await closed;
  assert.deepEqual([ended.length, ended[0] === stream, stream.disconnected.aborted, stream.ready], [1, true, true, false]);
  client.destroy();
  server.close();
  server.closeAllConnections();
});

const isAddress = (address: string | AddressInfo | null): address is AddressInfo => typeof address === "object" && address !== null;
