import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeGateway } from "../../../test/transport/fake-gateway.ts";
import { connectInMemory } from "./memory.ts";

describe("the in-memory client", () => {
  it("delivers in order in both directions, with the given caller", async () => {
    const gateway = fakeGateway({ receive: (text, channel) => channel.send(text) });
    await using client = connectInMemory(gateway, { principal: "ada", scopes: ["a"] });
    const seen: string[] = [];
    client.onMessage((text) => seen.push(text));
    client.send({ id: 1 });
    client.send('{"id":2}');
    client.send(Buffer.from('{"id":3}'));
    assert.deepEqual(seen, ['{"id":1}', '{"id":2}', '{"id":3}']);
    assert.deepEqual(gateway.connections[0]?.caller, { principal: "ada", scopes: ["a"] });
  });

  it("retains messages until there is a listener", async () => {
    const gateway = fakeGateway({ receive: (text, channel) => channel.send(text) });
    const client = connectInMemory(gateway);
    client.send({ id: 1 });
    client.send({ id: 2 });
    const seen: string[] = [];
    for await (const text of client.messages) {
      seen.push(text);
      if (seen.length === 2) client.send({ id: 3 });
      if (seen.length === 3) void client.close();
    }
    assert.deepEqual(seen, ['{"id":1}', '{"id":2}', '{"id":3}']);
  });

  it("C8 can simulate a client that does not read", async () => {
    const gateway = fakeGateway();
    await using client = connectInMemory(gateway);
    const [connection] = gateway.connections;
    assert.ok(connection);
    const seen: string[] = [];
    client.onMessage((text) => seen.push(text));
    let ready = 0;
    connection.channel.onReady(() => (ready += 1));
    client.pause();
    assert.equal(connection.channel.ready, false);
    connection.channel.send("1");
    assert.deepEqual(seen, []);
    client.resume();
    assert.deepEqual(seen, ["1"]);
    assert.equal(ready, 1);
  });

  it("C8 delivers all messages to all listeners in order, even if one throws or sends", async () => {
    const gateway = fakeGateway({ receive: (text, channel) => channel.send(text) });
    await using client = connectInMemory(gateway);
    const heard: string[] = [];
    client.onMessage((text) => {
      if (text === "1") client.send("2");
      throw new Error(`about ${text}`);
    });
    client.onMessage((text) => heard.push(text));
    assert.throws(() => client.send("1"), /about 1/);
    assert.deepEqual(heard, ["1", "2"]);
    client.pause();
    client.send("3");
    client.send("4");
    let ready = 0;
    gateway.connections[0]?.channel.onReady(() => (ready += 1));
    assert.throws(() => client.resume(), /about 3/);
    assert.deepEqual([heard, ready], [["1", "2", "3", "4"], 1]);
  });

  it("notifies each side when the other has closed", async () => {
    const gateway = fakeGateway();
    const client = connectInMemory(gateway);
    const [connection] = gateway.connections;
    assert.ok(connection);
    connection.channel.close();
    assert.equal(client.disconnected.aborted, true);
    await client.close();
    assert.equal(connection.channel.disconnected.aborted, true);
    await connection.closed;
    connection.channel.send("after the close");
    client.send("after the close");
    assert.deepEqual(connection.frames, []);
  });
});
