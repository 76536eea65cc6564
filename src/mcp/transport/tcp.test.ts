import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fakeGateway, type FakeOptions } from "../../../test/transport/fake-gateway.ts";
import { rawSocket } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { type Clock, type Json, systemClock } from "../../core/contract/index.ts";
import { type Authenticator, authenticator, hashApiKey, serveTcp, type TcpOptions } from "./index.ts";

async function serve(options: Partial<TcpOptions> = {}, fake: FakeOptions = {}) {
  const gateway = fakeGateway(fake);
  const logged: Json[] = [];
  const door = await serveTcp({ gateway, log: (_level, data) => void logged.push(data), ...options });
  return { gateway, door, logged, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

async function directory() {
  const path = await mkdtemp(join(tmpdir(), "troupe-tcp-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const KEY = "a key of at least sixteen characters".replaceAll(" ", "-");
const auth = (scopes?: readonly string[]): Promise<Authenticator> =>
  authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY), scopes: ["play"] }], ...(scopes === undefined ? {} : { scopes }) });
const hello = (token?: string, id: number | string = 1): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "hello", params: { x: 1, _meta: { rest: 1, ...(token === undefined ? {} : { "troupe/authorization": token }) } } })}\n`;

describe("TCP", () => {
  it("sends one message per line, without a principal #gateway.tcp", async () => {
    await using server = await serve();
    assert.equal(server.door.url, `tcp://127.0.0.1:${server.port}`);
    await using client = await rawSocket(server.port);
    client.write('{"id":1,"method":"a"}\n{"id":2,');
    client.write('"method":"ž"}\r\n');
    const text = await client.until((all) => all.split("\n").length === 3);
    assert.match(text, /"id":1.*"principal":null.*\n.*"id":2.*"method":"ž".*\n$/);
    assert.equal(server.gateway.connections[0]?.caller.peer, "127.0.0.1");
  });

  it("answers requests before the client's side ended, then closes", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using server = await serve({}, { receive: (text, channel) => void promise.then(() => channel.send(text)) });
    server.gateway.held.add(promise);
    await using client = await rawSocket(server.port);
    client.write('{"id":1}\n{"id":2}');
    client.end();
    await eventually(() => server.gateway.connections[0]?.frames.length === 2);
    resolve();
    assert.equal(await client.closed(), '{"id":1}\n{"id":2}\n');
  });

  it("closes an HTTP connection before its body is read", async () => {
    for (const options of [{}, { auth: await auth() }]) {
      await using server = await serve(options);
      await using browser = await rawSocket(server.port);
      browser.write(
        'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 25\r\n\r\n{"id":1,"method":"steal"}\n',
      );
      assert.match(await browser.closed(), /^\{"jsonrpc":"2.0","id":null,"error":\{"code":-32700,[^\n]*\}\n$/);
      assert.deepEqual(
        server.gateway.connections.flatMap(({ frames }) => frames),
        [],
      );
    }
  });

  it("notifies the gateway when the client disconnects", async () => {
    await using server = await serve();
    const client = await rawSocket(server.port);
    await eventually(() => server.gateway.connections.length === 1);
    client.socket.destroy();
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
    await server.gateway.connections[0]?.closed;
    server.gateway.connections[0]?.channel.send("{}");
  });

  it("answers many pipelined messages in few writes and in order", async () => {
    await using server = await serve({}, { receive: (text, channel) => channel.send(text) });
    await using client = await rawSocket(server.port);
    const lines = Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}\n`).join("");
    client.write(lines);
    assert.equal(await client.until((text) => text.length === lines.length), lines);
  });

  it("closes a connection whose line is too long or too slow #secure.slow", async () => {
    await using server = await serve({ limits: { lineBytes: 100, lineMs: 60, idleMs: 150 } });
    await using long = await rawSocket(server.port);
    long.write("x".repeat(10_000));
    assert.match(await long.closed(), /"code":-32600.*at most 100 bytes/);
    await using slow = await rawSocket(server.port);
    slow.write('{"id":1}\n{"id"');
    assert.match(await slow.closed(), /"id":1[\s\S]*"code":-31408.*did not end in time/);
    await using silent = await rawSocket(server.port);
    assert.match(await silent.closed(), /"code":-31408.*Nothing happened/);
  });

  it("C8 limits the output for a client that does not read", async () => {
    await using server = await serve(
      { limits: { blockedMs: 100 } },
      { receive: (_text, channel) => channel.send(JSON.stringify("x".repeat(100_000))) },
    );
    const client = await rawSocket(server.port);
    client.socket.pause();
    const pump = (): void => {
      while (!client.socket.destroyed && client.socket.write('{"id":1}\n'.repeat(100)));
    };
    client.socket.on("drain", pump);
    pump();
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
    assert.match(JSON.stringify(server.logged), /client-dropped/);
    client.socket.destroy();
  });

  it("limits connections", async () => {
    await using server = await serve({ limits: { connections: 2 } });
    await using first = await rawSocket(server.port);
    await using second = await rawSocket(server.port);
    await using third = await rawSocket(server.port);
    assert.equal(await third.closed(), "");
    first.socket.destroy();
    await eventually(() => server.gateway.connections[0]?.channel.disconnected.aborted === true);
    await using fourth = await rawSocket(server.port);
    fourth.write('{"id":4}\n');
    await fourth.until('"id":4');
    second.write('{"id":2}\n');
    await second.until('"id":2');
  });

  it("does not listen beyond loopback without authentication #secure.tcp-open", async () => {
    await assert.rejects(serveTcp({ gateway: fakeGateway(), host: "0.0.0.0" }), {
      code: "UNSAFE_LISTENER",
      message: /TCP on 0\.0\.0\.0 would be open to everybody.*give it authentication/,
    });
    const guarded = await serveTcp({ gateway: fakeGateway(), host: "0.0.0.0", auth: await auth() });
    await guarded.close();
    const knowingly = await serveTcp({ gateway: fakeGateway(), host: "0.0.0.0", insecure: true });
    await knowingly.close();
  });

  it("sends the answers it has when the grace period is over", async () => {
    const GRACE_MS = 12_345;
    let over: (() => void) | undefined;
    const clock: Clock = {
      now: () => systemClock.now(),
      after(ms, run) {
        if (ms === GRACE_MS) over = run;
        return systemClock.after(ms, run);
      },
    };
    const server = await serve(
      { clock },
      {
        receive(text, channel) {
          channel.send(text);
          closing = server.door.close({ graceMs: GRACE_MS });
          over?.();
        },
      },
    );
    let closing: Promise<void> | undefined;
    server.gateway.held.add(new Promise(() => {}));
    await using client = await rawSocket(server.port);
    client.write('{"id":1}\n');
    assert.equal(await client.closed(), '{"id":1}\n');
    await closing;
  });

  it("closes: ends the gateway's connections and waits for running requests, up to its grace period", async () => {
    const server = await serve({}, { receive: (text, channel) => void promise.then(() => channel.send(text)) });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.gateway.held.add(promise);
    await using client = await rawSocket(server.port);
    client.write('{"id":1}\n');
    await eventually(() => server.gateway.connections[0]?.frames.length === 1);
    const closing = server.door.close({ graceMs: 60_000 });
    resolve();
    assert.equal(await client.closed(), '{"id":1}\n');
    client.end();
    await closing;
    const stuck = await serve();
    stuck.gateway.held.add(new Promise(() => {}));
    await using other = await rawSocket(stuck.port);
    await eventually(() => stuck.gateway.connections.length === 1);
    await stuck.door.close({ graceMs: 20 });
    await other.closed();
  });
});

describe("TCP tokens", () => {
  it("authenticate by the first request, and are not passed on #secure.tcp-token #spec.6.practices", async () => {
    await using server = await serve({ auth: await auth() });
    await using client = await rawSocket(server.port);
    client.write(`${hello(`Bearer ${KEY}`)}${hello(`Bearer ${KEY}`, 2)}${hello(undefined, 3)}`);
    const text = await client.until('"id":3');
    assert.match(text, /"id":1.*"principal":"ada","scopes":\["play"\]/);
    const [connection] = server.gateway.connections;
    assert.equal(connection?.frames.length, 3);
    assert.ok(
      connection?.frames.every((frame) => !frame.includes(KEY) && !frame.includes("troupe/authorization") && frame.includes('"rest":1')),
    );
    assert.doesNotMatch(JSON.stringify(server.logged), new RegExp(KEY));
  });

  it("that are missing, wrong or insufficient are refused under the request's id", async () => {
    await using server = await serve({ auth: await auth(["admin"]) });
    const answer = async (first: string): Promise<string> => {
      await using client = await rawSocket(server.port);
      client.write(first);
      return await client.closed();
    };
    assert.match(
      await answer(hello(undefined, "x")),
      /^\{"jsonrpc":"2\.0","id":"x","error":\{"code":-31401,"message":"Send a token in params\._meta\[\\"troupe\/authorization\\"\]/,
    );
    assert.match(
      await answer(hello("Bearer wrong-token-of-some-length")),
      /"id":1,"error":\{"code":-31401,"message":"The token is not known here\."/,
    );
    assert.match(await answer(hello(`Bearer ${KEY}`)), /"code":-31403,"message":"This needs the scope admin\."/);
    assert.match(await answer("not json\n"), /"code":-32700/);
    assert.match(await answer("[]\n"), /"code":-32700/);
    assert.match(await answer('{"id":{},"params":[]}\n'), /"id":null,"error":\{"code":-31401/);
    assert.match(await answer("x".repeat(70_000)), /"code":-32600.*at most 65536 bytes/);
    assert.equal(server.gateway.connections.length, 0);
  });

  it("are removed from every message, even from a very deep one", async () => {
    await using server = await serve({ auth: await auth() });
    await using client = await rawSocket(server.port);
    client.write(`{"id":1,"metadata":{"troupe/authorization":"Bearer ${KEY}","rest":1},"params":{"_meta":{"rest":2}}}\n`);
    client.write(
      `{"id":2,"params":{"_meta":{"troupe/authorization":"Bearer ${KEY}"}},"metadata":{"troupe/authorization":"Bearer ${KEY}"}}\n`,
    );
    client.write(`{"id":3,"troupe/authorization":${"[".repeat(40_000)}${"]".repeat(40_000)}}\n`);
    client.write('{"id":4}\n');
    await client.until('"id":4');
    const frames = server.gateway.connections[0]?.frames ?? [];
    assert.deepEqual(frames.slice(0, 2), [
      '{"id":1,"metadata":{"rest":1},"params":{"_meta":{"rest":2}}}',
      '{"id":2,"params":{"_meta":{}},"metadata":{}}',
    ]);
    assert.equal(frames.length, 4);
  });

  it("are not searched in a message with too many members", async () => {
    await using server = await serve({ auth: await auth() });
    await using client = await rawSocket(server.port);
    client.write(hello(`Bearer ${KEY}`));
    await client.until('"id":1');
    const members = Array.from({ length: 10_001 }, (_, n) => `"k${n}":0`).join(",");
    client.write(`{"id":2,"params":{"_meta":{"troupe/authorization":"Bearer ${KEY}"},${members}}}\n`);
    client.write('{"id":3}\n');
    assert.match(await client.until('"id":3'), /"code":-32600,"message":"An object may have 10000 members/);
    assert.equal(server.gateway.connections[0]?.frames.length, 2);
  });

  it("leave the rest of their message unchanged", async () => {
    await using server = await serve({ auth: await auth() });
    await using client = await rawSocket(server.port);
    const tokenHere = `"troupe/authorization" : "Bearer ${KEY}"`;
    const rests = [
      '{"id":1,"params":{"a":1,"a":2,"_meta":{"n":1e999, "s":"\\ud800"}}}',
      '{"id":2,"params":{"_meta":{"b":9007199254740993,"b":-0}},"x":"\\",\\"","params":3}',
      '{"id":3, "params" : {"_meta":{ "c":[{"troupe/authorization":1}], "__proto__":{}}}}',
      '{"id":4,"params":{"_meta":{}}}',
      '{"id":5,"metadata":{"rest":1,"k":{"_meta":{}}}}',
    ];
    const withToken = [
      rests[0]?.replace(', "s"', `,${tokenHere} , "s"`),
      rests[1]?.replace('"b":9', `${tokenHere},"b":9`),
      rests[2]?.replace(', "__proto__":{}}', `, "__proto__":{}, ${tokenHere}}`),
      rests[3]?.replace('"_meta":{', `"_meta":{${tokenHere}`),
      rests[4]?.replace('{"rest"', `{${tokenHere},"rest"`),
    ];
    client.write(`${withToken.join("\n")}\n`);
    await eventually(() => server.gateway.connections[0]?.frames.length === rests.length);
    assert.deepEqual(server.gateway.connections[0]?.frames, rests);
  });

  it("are refused if one place has two", async () => {
    await using server = await serve({ auth: await auth() });
    const one = `"troupe/authorization":"Bearer ${KEY}"`;
    const twice = `{"id":1,"params":{"_meta":{${one},${one}}}}\n`;
    for (const before of ["", hello(`Bearer ${KEY}`)]) {
      await using client = await rawSocket(server.port);
      client.write(before + twice);
      assert.match(await client.closed(), /"code":-32700,"message":"A message has one token in one place/);
    }
    await using other = await rawSocket(server.port);
    other.write(`{"id":1,"params":{"_meta":{${one}}},"params":{"_meta":{${one}}}}\n`);
    assert.match(await other.closed(), /"code":-32700/);
  });

  it("must come in time #secure.tcp-token-time", async () => {
    await using server = await serve({ auth: await auth(), limits: { tokenMs: 40 } });
    await using client = await rawSocket(server.port);
    assert.match(await client.closed(), /"code":-31401,"message":"No token came within 40 ms/);
    await using slow = await rawSocket(server.port);
    slow.write(hello(`Bearer ${KEY}`).slice(0, 30));
    assert.match(await slow.closed(), /No token came within 40 ms/);
  });

  it("that are checked slowly delay later messages without losing any", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const quick = await auth();
    const slow: Authenticator = {
      ...quick,
      async check(authorization, resource) {
        await promise;
        return quick.check(authorization, resource);
      },
    };
    await using server = await serve({ auth: slow });
    await using client = await rawSocket(server.port);
    client.write(hello(`Bearer ${KEY}`));
    client.write('{"id":2}\n');
    client.write('{"id":3}\n');
    await eventually(() => client.socket.writableLength === 0);
    assert.equal(server.gateway.connections.length, 0);
    resolve();
    const text = await client.until('"id":3');
    assert.deepEqual(text.match(/"id":\d/g), ['"id":1', '"id":2', '"id":3']);
  });

  it("end the connection when they expire", async () => {
    const key = { name: "ada", sha256: hashApiKey(KEY), expiresAt: Date.now() + 150 };
    await using server = await serve({ auth: await authenticator({ keys: [key] }) });
    await using client = await rawSocket(server.port);
    client.write(hello(`Bearer ${KEY}`));
    assert.match(await client.closed(), /"principal":"ada"[\s\S]*"code":-31401,"message":"The token has expired/);
  });
});

describe("Unix sockets", () => {
  it("are accessible only to their owner, who is local without a token #gateway.unix #cli.serve.as", async () => {
    await using temporary = await directory();
    const path = join(temporary.path, "s.sock");
    await using server = await serve({ path, auth: await auth() });
    assert.equal(server.door.url, `unix:${path}`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await using client = await rawSocket({ path });
    client.write('{"id":1}\n');
    await client.until('"principal":"local"');
    await using named = await serve({ path: `${path}.2`, as: "ada" });
    await using other = await rawSocket({ path: `${path}.2` });
    other.write('{"id":1}\n');
    await other.until('"principal":"ada"');
    assert.equal(named.gateway.connections.length, 1);
  });

  it("without a listener are replaced; the file is removed on close", async () => {
    await using temporary = await directory();
    const path = join(temporary.path, "s.sock");
    // A process that died leaves its socket behind.
    const dead = createServer().listen(path);
    await new Promise<void>((done) => void dead.once("listening", () => done()));
    const { linkSync } = await import("node:fs");
    linkSync(path, `${path}.copy`);
    await new Promise<void>((done) => void dead.close(() => done()));
    linkSync(`${path}.copy`, path);
    const server = await serve({ path });
    await using client = await rawSocket({ path });
    client.write('{"id":1}\n');
    await client.until('"id":1');
    client.end();
    await server.door.close();
    assert.equal(existsSync(path), false);
  });

  it("with a listener, and other files, are not replaced", async () => {
    await using temporary = await directory();
    const path = join(temporary.path, "s.sock");
    await using server = await serve({ path });
    await assert.rejects(serveTcp({ gateway: fakeGateway(), path }), { code: "BAD_ADDRESS", message: /Another process answers/ });
    await using client = await rawSocket({ path });
    client.write('{"id":1}\n');
    await client.until('"id":1');
    assert.equal(server.gateway.connections.length >= 1, true);
    const file = join(temporary.path, "notes.txt");
    writeFileSync(file, "precious");
    await assert.rejects(serveTcp({ gateway: fakeGateway(), path: file }), {
      code: "BAD_ADDRESS",
      message: /is not a socket and was left alone/,
    });
    assert.equal(statSync(file).size, 8);
    await assert.rejects(serveTcp({ gateway: fakeGateway(), path: join(temporary.path, "none", "s.sock") }), {
      code: "BAD_ADDRESS",
      message: /directory must exist/,
    });
    await assert.rejects(serveTcp({ gateway: fakeGateway(), path: join(temporary.path, "x".repeat(120)) }), {
      code: "BAD_ADDRESS",
      message: /choose a shorter one/,
    });
  });
});
