import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "../contract/index.ts";
import { EventStream } from "./event-stream.ts";

/** More than the system takes in on a loopback connection. */
const MUCH = "x".repeat(12_000_000);

for (const version of ["1.1", "1.0"])
  test(`C8 a stream to a client of HTTP/${version} that does not read turns ready once it reads, however often that happens`, async () => {
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
    let received = 0;
    client.on("data", (piece) => void (received += piece.length));
    client.write(`GET / HTTP/${version}\r\nHost: localhost\r\n\r\n`);
    const dropped: string[] = [];
    const door = {
      limits: { queuedBytes: 64_000_000 },
      clock: systemClock,
      onDrop: (reason: string) => void dropped.push(reason),
      onEnd() {},
    };
    const stream = new EventStream(await opened.promise, version === "1.1", door);
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

const isAddress = (address: string | AddressInfo | null): address is AddressInfo => typeof address === "object" && address !== null;
