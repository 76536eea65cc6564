import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, describe, it } from "node:test";
import type { Json } from "../../src/core/contract/index.ts";
import { SimulatedClock } from "../../src/testing/index.ts";
import {
  type HttpOptions,
  serveHttp,
  serveTcp,
  type TcpOptions,
  type Verdict,
  webHandler,
  type WebOptions,
} from "../../src/mcp/transport/index.ts";
import { fakeGateway } from "./fake-gateway.ts";
import { head, post, type RawSocket, rawSocket } from "./raw-socket.ts";
import { trackServerSockets } from "./server-sockets.ts";
import { onLoopback } from "../on-loopback.ts";

/** Twice the unit in which memory is reserved. */
const ROOM = 131_072;
/** A body or line that needs both units, and the part of it that is sent first. */
const SIZE = 100_000;
const BEGUN = 70_000;
const HTTP = { limits: { bodyBytes: ROOM, arrivingBytes: ROOM } };

const taken = trackServerSockets();
after(() => taken[Symbol.dispose]());

const x = (count: number): string => "x".repeat(count);
const json = ["Host: localhost", "Content-Type: application/json", "Accept: application/json, text/event-stream"];
const headOf = (length = SIZE): string => head("POST /mcp HTTP/1.1", ...json, `Content-Length: ${length}`);
const chunked = head("POST /mcp HTTP/1.1", ...json, "Transfer-Encoding: chunked");
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
const answering = () => fakeGateway({ exchange: (exchange) => ({ status: 200, body: `{"bytes":${exchange.body?.length}}` }) });

async function serve(options: Partial<HttpOptions> = {}) {
  const logged: Json[] = [];
  const gateway = answering();
  const door = await serveHttp({ gateway, ...HTTP, log: (_level, data) => void logged.push(data), ...options });
  return { gateway, logged, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

/** A client that has sent that part, which the server has read. */
async function sending(port: number, begin: string | Uint8Array, body: string | Uint8Array = x(BEGUN)): Promise<RawSocket> {
  const client = await rawSocket(port);
  client.write(begin);
  client.write(body);
  await taken.bytes(client.socket, begin.length + body.length);
  return client;
}

/** The complete answer to a complete request. */
async function statusLine(port: number, request = post(x(SIZE))): Promise<string> {
  await using client = await rawSocket(port);
  client.write(request);
  return await client.until(/\}$/);
}

describe("incomplete bodies over HTTP", () => {
  it("share a limit: the last is refused, small ones never, and earlier ones are completed", async () => {
    await using server = await serve();
    await using first = await sending(server.port, headOf());
    const refused = await statusLine(server.port);
    assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n[\s\S]*connection: close[\s\S]*send this again in a moment/i);
    assert.equal(statusOf(await statusLine(server.port)), 503);
    assert.deepEqual(
      server.logged.filter((entry) => JSON.stringify(entry).includes("inflow-full")),
      [{ event: "inflow-full", transport: "http" }],
    );
    assert.equal(statusOf(await statusLine(server.port, post(x(16_384)))), 200);
    first.write(x(SIZE - BEGUN));
    assert.match(await first.until(/\}$/), /^HTTP\/1\.1 200 [\s\S]*\{"bytes":100000\}$/);
    assert.equal(statusOf(await statusLine(server.port)), 200);
  });

  it("free their memory, however they end", async () => {
    await using server = await serve();
    for (let round = 0; round < 3; round += 1) {
      await using left = await sending(server.port, headOf());
      left.socket.destroy();
      await taken.closed(left.socket);
      assert.equal(statusOf(await statusLine(server.port)), 200, "its client has left");

      await using long = await sending(server.port, chunked, `${ROOM.toString(16)}\r\n${x(ROOM)}\r\n1\r\nx\r\n`);
      assert.equal(statusOf(await long.until(/\}$/)), 413);
      assert.equal(statusOf(await statusLine(server.port)), 200, "it was too long");

      await using broken = await sending(server.port, chunked, `${BEGUN.toString(16)}\r\n${x(BEGUN)}\r\nno length\r\n`);
      assert.equal(statusOf(await broken.closed()), 400);
      await taken.closed(broken.socket);
      assert.equal(statusOf(await statusLine(server.port)), 200, "it could not be read");
    }
  });

  it("free their memory if they are too slow", async () => {
    await using server = await serve({ limits: { ...HTTP.limits, requestMs: 200 } });
    await using newest = await sending(server.port, headOf());
    assert.equal(statusOf(await newest.closed()), 408);
    await taken.closed(newest.socket);
    // On a very busy machine any request may be too slow.
    let status = 408;
    while (status === 408) status = statusOf(await statusLine(server.port));
    assert.equal(status, 200);
  });

  it("are evicted if they stall and others need the memory", async () => {
    const clock = new SimulatedClock();
    await using server = await serve({ clock });
    await using still = await sending(server.port, headOf());
    await clock.advance(4_999);
    assert.equal(statusOf(await statusLine(server.port)), 503);
    await clock.advance(1);
    assert.equal(statusOf(await statusLine(server.port)), 200);
    assert.match(await still.until(/\}$/), /^HTTP\/1\.1 408 [\s\S]*too slowly while others needed its room/);
    await clock.advance(1_000);
  });

  it("continue if they began before others", async () => {
    await using server = await serve({ limits: { bodyBytes: ROOM, arrivingBytes: ROOM + 65_536 } });
    await using first = await sending(server.port, headOf(), x(20_000));
    await using second = await sending(server.port, headOf());
    first.write(x(SIZE - 20_000));
    assert.equal(statusOf(await first.until(/\}$/)), 200);
    assert.equal(statusOf(await second.until(/\}$/)), 503);
  });

  it("are retained while a token is checked, and their memory is freed in any case", async () => {
    const good: Verdict = { caller: { scopes: [] } };
    let verdict = Promise.withResolvers<Verdict>();
    const auth = { scopes: [], issuers: [], needsResource: false, check: () => verdict.promise, metadata: () => ({}) };
    await using server = await serve({ auth });
    const verdicts: readonly (readonly [Verdict, whole: number, other: number])[] = [
      [{ refused: "missing", why: "No token." }, 401, 401],
      // It was refused while its token was checked, and is answered once the token is accepted.
      [good, 200, 503],
    ];
    for (const [found, first, second] of verdicts) {
      await using whole = await sending(server.port, headOf(), x(SIZE));
      await using other = await sending(server.port, headOf(), x(SIZE));
      verdict.resolve(found);
      assert.equal(statusOf(await whole.until(/\}$/)), first);
      assert.equal(statusOf(await other.until(/\}$/)), second);
      verdict = Promise.withResolvers();
    }
    verdict.resolve(good);
    assert.equal(statusOf(await statusLine(server.port)), 200);
  });

  it("are refused in chunks of one byte, but not in small chunks", async () => {
    await using server = await serve({ limits: { bodyBytes: 1_000_000 } });
    const inPieces = (count: number, bytes: number): string =>
      `${chunked}${`${bytes.toString(16)}\r\n${x(bytes)}\r\n`.repeat(count)}0\r\n\r\n`;
    assert.match(await statusLine(server.port, inPieces(5_000, 1)), /^HTTP\/1\.1 413 [\s\S]*too many pieces/);
    assert.match(await statusLine(server.port, inPieces(4_000, 1)), /^HTTP\/1\.1 200 [\s\S]*"bytes":4000/);
    assert.match(await statusLine(server.port, inPieces(5_000, 32)), /^HTTP\/1\.1 200 [\s\S]*"bytes":160000/);
  });

  it("that are chunked in single bytes are refused too", async () => {
    await using server = await serve({ limits: { bodyBytes: 1_000_000 } });
    await using client = await rawSocket(server.port);
    client.write(chunked);
    const pump = (): void => {
      while (!client.socket.destroyed && client.socket.write("1\r\nx\r\n".repeat(1_000)));
    };
    client.socket.on("drain", pump);
    pump();
    assert.equal(statusOf(await client.closed()), 413);
  });
});

describe("incomplete bodies in an application", () => {
  const doorOf = (options: Partial<WebOptions> = {}) => webHandler({ gateway: answering(), ...HTTP, ...options });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const requestOf = (body: string | ReadableStream): Request =>
    new Request("http://localhost/mcp", { method: "POST", headers, body, duplex: "half" });

  async function streaming(door: ReturnType<typeof webHandler>) {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const read = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>(
      {
        start: (given) => void (controller = given),
        // Called when the previous chunks have been read.
        pull: () => read.resolve(),
      },
      { highWaterMark: 0 },
    );
    const answer = door.fetch(requestOf(body));
    await read.promise;
    controller?.enqueue(new Uint8Array(BEGUN));
    await new Promise((done) => {
      setImmediate(done);
    });
    assert.ok(controller);
    return { answer, controller };
  }

  it("share a limit, and free their memory", async () => {
    const clock = new SimulatedClock();
    const door = doorOf({ clock });
    const { answer, controller } = await streaming(door);
    const refused = await door.fetch(requestOf(x(SIZE)));
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
    assert.equal((await door.fetch(requestOf(x(16_384)))).status, 200);
    controller.enqueue(new Uint8Array(SIZE - BEGUN));
    controller.close();
    assert.deepEqual(await (await answer).json(), { bytes: SIZE });
    const broken = await streaming(door);
    broken.controller.error(new Error("gone"));
    assert.equal((await broken.answer).status, 400);
    const newest = await streaming(door);
    await clock.advance(30_000);
    assert.equal((await newest.answer).status, 408);
    assert.equal((await door.fetch(requestOf(x(SIZE)))).status, 200);
    const still = await streaming(door);
    await clock.advance(5_000);
    assert.equal((await door.fetch(requestOf(x(SIZE)))).status, 200);
    assert.equal((await still.answer).status, 408);
  });

  it("are limited on node:http requests too", async () => {
    const door = doorOf();
    await using loopback = await onLoopback(createServer((request, response) => void door.node(request, response)));
    const { port } = loopback;
    await using first = await sending(port, headOf());
    assert.equal(statusOf(await statusLine(port)), 503);
    first.write(x(SIZE - BEGUN));
    assert.match(await first.until(/\}$/), /^HTTP\/1\.1 200 [\s\S]*\{"bytes":100000\}$/);
    await using left = await sending(port, headOf());
    left.socket.destroy();
    await taken.closed(left.socket);
    assert.equal(statusOf(await statusLine(port)), 200);
    assert.match(await statusLine(port, `${chunked}${"1\r\nx\r\n".repeat(5_000)}0\r\n\r\n`), /^HTTP\/1\.1 413 [\s\S]*too many pieces/);
  });
});

describe("incomplete lines over TCP", () => {
  const open = async (options: Partial<TcpOptions> = {}) => {
    const gateway = fakeGateway();
    const door = await serveTcp({ gateway, limits: { lineBytes: ROOM, arrivingBytes: ROOM }, ...options });
    return { gateway, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
  };
  const rest = `${x(SIZE - BEGUN)}"}\n`;
  const whole = async (port: number): Promise<string> => {
    await using client = await sending(port, '{"id":"');
    client.write(rest);
    return await client.until("\n");
  };

  it("share a limit: the last is refused, and earlier ones are completed", async () => {
    await using server = await open();
    await using first = await sending(server.port, '{"id":"');
    await using second = await sending(server.port, '{"id":"');
    assert.match(await second.closed(), /^\{"jsonrpc":"2.0","id":null,"error":\{"code":-31503,[^\n]*send this again in a moment[^\n]*\n$/);
    await using small = await rawSocket(server.port);
    small.write('{"id":1}\n');
    await small.until('"id":1');
    first.write(rest);
    await first.until(`"id":"${x(SIZE)}"`);
    assert.match(await whole(server.port), /"id":"x{100000}"/);
  });

  it("free their memory, however they end", async () => {
    await using server = await open();
    await using left = await sending(server.port, '{"id":"');
    left.socket.destroy();
    await taken.closed(left.socket);
    assert.match(await whole(server.port), /"id":"x{100000}"/);
    await using long = await sending(server.port, '{"id":"', x(ROOM));
    assert.match(await long.closed(), /"code":-32600/);
    assert.match(await whole(server.port), /"id":"x{100000}"/);
  });

  it("are evicted if they stall and others need the memory", async () => {
    const clock = new SimulatedClock();
    await using server = await open({ clock });
    await using still = await sending(server.port, '{"id":"');
    await clock.advance(5_000);
    assert.match(await whole(server.port), /"id":"x{100000}"/);
    assert.match(await still.closed(), /"code":-31408.*too slowly/);
  });
});

describe("incomplete messages over a WebSocket", () => {
  const piece = (first: number, size: number): Buffer =>
    Buffer.concat([Buffer.from([first, 0x80 | 126, size >> 8, size & 255, 0, 0, 0, 0]), Buffer.alloc(size, "x")]);
  const HANDSHAKE = head(
    "GET /socket HTTP/1.1",
    "host: 127.0.0.1",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version: 13",
  );
  const begun = Buffer.concat([piece(0x01, 40_000), piece(0x00, 30_000)]);
  const last = piece(0x80, 30_000);

  const talking = async (port: number): Promise<RawSocket> => {
    const client = await rawSocket(port);
    client.write(HANDSHAKE);
    await client.until("\r\n\r\n");
    client.write(begun);
    await taken.bytes(client.socket, HANDSHAKE.length + begun.length);
    return client;
  };

  it("share a limit with those of HTTP, and free their memory", async () => {
    const gateway = answering();
    const heard: number[] = [];
    const door = await serveHttp({
      gateway,
      ...HTTP,
      upgrades: [
        {
          path: "/socket",
          connect: (channel) => ({
            receive: (frame) => {
              heard.push(frame.length);
              channel.send(`{"got":${frame.length}}`);
            },
            close: async () => undefined,
          }),
        },
      ],
    });
    await using first = await talking(door.port);
    assert.equal(statusOf(await statusLine(door.port)), 503);
    await using second = await talking(door.port);
    // 1013: try again later.
    assert.ok((await second.until("send this again in a moment")).includes("\u0003\ufffdToo much"));
    first.write(last);
    await first.until('{"got":100000}');
    assert.equal(statusOf(await statusLine(door.port)), 200);
    await using left = await talking(door.port);
    left.socket.destroy();
    await taken.closed(left.socket);
    assert.equal(statusOf(await statusLine(door.port)), 200);
    assert.deepEqual(heard, [SIZE]);
    await door.close({ graceMs: 0 });
  });
});
