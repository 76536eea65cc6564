import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { fakeGateway, textOf, type FakeOptions } from "../../../test/transport/fake-gateway.ts";
import { head, post, rawSocket } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { serveHttp } from "./http.ts";
import type { HttpLimits } from "./http-options.ts";

async function serve(limits: Partial<HttpLimits> = {}, fake: FakeOptions = {}) {
  const gateway = fakeGateway({
    exchange: (exchange) => ({ status: 200, body: JSON.stringify({ got: textOf(exchange.body) }) }),
    ...fake,
  });
  const door = await serveHttp({ gateway, limits });
  return { gateway, door, port: door.port, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

const TYPE = ["Host: localhost", "Content-Type: application/json"];
const chunked = head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding: chunked");
const answers = (text: string): number => text.split("HTTP/1.1 200 OK").length - 1;
const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
const turn = (): Promise<void> =>
  new Promise((done) => {
    setImmediate(done);
  });

describe("HTTP framing", () => {
  it("accepts bodies in chunks, however they are split, even within a character", async () => {
    await using server = await serve();
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 20 }),
        async (body, cuts) => {
          await using client = await rawSocket(server.port);
          client.write(chunked);
          const bytes = Buffer.from(body);
          let start = 0;
          for (const cut of [...cuts, bytes.length]) {
            const piece = bytes.subarray(start, start + cut);
            if (piece.length === 0) continue;
            client.write(`${piece.length.toString(16)}\r\n`);
            client.write(piece);
            if (cut % 2 === 0) await turn();
            client.write("\r\n");
            start += cut;
          }
          client.write("0\r\n\r\n");
          const text = await client.until(/\r\n\r\n.*\}$/s);
          assert.deepEqual(JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)), { got: bytes.toString() });
        },
      ),
      { numRuns: 40 },
    );
  });

  it("accepts a body that arrives byte by byte", async () => {
    await using server = await serve();
    await using client = await rawSocket(server.port);
    client.socket.setNoDelay(true);
    for (const byte of Buffer.from(post('{"ž":"🐴"}'))) {
      client.write(Uint8Array.of(byte));
      await turn();
    }
    assert.match(await client.until(/\}$/), /\{"got":"\{\\"ž\\":\\"🐴\\"\}"\}$/);
  });

  it("answers pipelined requests in order", async () => {
    await using server = await serve(
      {},
      {
        async exchange(exchange) {
          const text = textOf(exchange.body);
          // The later, the sooner ready.
          for (let wait = 20 - Number(text); wait > 0; wait -= 1) await turn();
          return { status: 200, body: text };
        },
      },
    );
    await using client = await rawSocket(server.port);
    client.write(Array.from({ length: 20 }, (_, index) => post(String(index))).join(""));
    const text = await client.until((all) => answers(all) === 20 && all.endsWith("\r\n\r\n19"));
    const bodies = text
      .split("HTTP/1.1 200 OK")
      .slice(1)
      .map((one) => one.slice(one.indexOf("\r\n\r\n") + 4));
    assert.deepEqual(
      bodies,
      Array.from({ length: 20 }, (_, index) => String(index)),
    );
  });

  it("answers 100 Continue, but not to a request it will refuse", async () => {
    await using server = await serve({ bodyBytes: 100 });
    await using client = await rawSocket(server.port);
    client.write(head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 2", "Expect: 100-continue"));
    await client.until("HTTP/1.1 100 Continue\r\n\r\n");
    assert.equal(server.gateway.exchanges.length, 0);
    client.write("{}");
    await client.until(/200 OK[\s\S]*"\{\}"\}$/);
    await using large = await rawSocket(server.port);
    large.write(head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 101", "Expect: 100-continue"));
    assert.match(await large.closed(), /^HTTP\/1\.1 413 /);
    await using foreign = await rawSocket(server.port);
    foreign.write(head("POST /mcp HTTP/1.1", "Host: evil.example", "Content-Length: 2", "Expect: 100-continue"));
    assert.match(await foreign.until("\r\n\r\n"), /^HTTP\/1\.1 403 /);
    await using strange = await rawSocket(server.port);
    strange.write(head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 2", "Expect: miracles"));
    assert.match(await strange.until("\r\n\r\n"), /^HTTP\/1\.1 417 /);
  });

  it("refuses a body that is too large with 413 and closes, with or without Content-Length #secure.body", async () => {
    await using server = await serve({ bodyBytes: 1_000 });
    await using measured = await rawSocket(server.port);
    measured.write(post("x".repeat(1_001)));
    assert.match(await measured.closed(), /^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*at most 1000 bytes/i);
    await using streamed = await rawSocket(server.port);
    streamed.write(`${chunked}3e8\r\n${"x".repeat(1_000)}\r\n1\r\nx\r\n`);
    assert.match(await streamed.until(/\}\}$/), /^HTTP\/1\.1 413 /);
    streamed.write(`3e8\r\n${"x".repeat(1_000)}\r\n0\r\n\r\n`);
    await streamed.closed();
    assert.equal(server.gateway.exchanges.length, 0);
    await using fits = await rawSocket(server.port);
    fits.write(post("x".repeat(1_000)));
    await fits.until("200 OK");
  });

  it("lets a client that uploads too much read the answer, without reading the whole upload", async () => {
    await using server = await serve({ bodyBytes: 1_000 });
    await using client = await rawSocket(server.port);
    client.write(head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 1000000000"));
    const piece = Buffer.alloc(65_536, 120);
    const pump = (): void => {
      while (!client.socket.destroyed && client.socket.write(piece));
    };
    client.socket.on("drain", pump);
    pump();
    assert.match(await client.closed(), /^HTTP\/1\.1 413 /);
  });

  it("refuses a head that is too large or has too many headers #secure.headers", async () => {
    await using server = await serve({ headerBytes: 8_192, headers: 20 });
    await using large = await rawSocket(server.port);
    large.write(head("POST /mcp HTTP/1.1", ...TYPE, `x: ${"y".repeat(9_000)}`));
    assert.match(await large.closed(), /^HTTP\/1\.1 431 [\s\S]*too large/);
    await using many = await rawSocket(server.port);
    many.write(head("POST /mcp HTTP/1.1", ...TYPE, ...Array.from({ length: 20 }, (_, index) => `x${index}: y`)));
    assert.match(await many.until("\r\n\r\n"), /^HTTP\/1\.1 431 /);
    // Also on a connection that was used before.
    await using again = await rawSocket(server.port);
    again.write(post("{}"));
    await again.until("200 OK");
    again.write(head("POST /mcp HTTP/1.1", ...TYPE, `x: ${"y".repeat(9_000)}`));
    await again.until("HTTP/1.1 431 ");
  });

  it("closes connections whose head or body does not arrive in time #secure.slow", async () => {
    await using server = await serve({ headersMs: 50, requestMs: 120 });
    await using silent = await rawSocket(server.port);
    await using slow = await rawSocket(server.port);
    slow.write("POST /mcp HTTP/1.1\r\nHost: local");
    await using half = await rawSocket(server.port);
    half.write(post("{}").slice(0, -1));
    assert.match(await silent.closed(), /^HTTP\/1\.1 408 /);
    assert.match(await slow.closed(), /^HTTP\/1\.1 408 /);
    assert.match(await half.closed(), /^HTTP\/1\.1 408 [\s\S]*in time/);
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("refuses ambiguous requests (request smuggling)", async () => {
    await using server = await serve();
    const shapes: Readonly<Record<string, string>> = {
      "length and chunks": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 3", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      "chunks and length": `${head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding: chunked", "Content-Length: 3")}0\r\n\r\n`,
      "two lengths": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 2", "Content-Length: 3")}{} `,
      "the same length twice": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 2", "Content-Length: 2")}{}`,
      "a list of lengths": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 2, 2")}{}`,
      "a signed length": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: +2")}{}`,
      "a hexadecimal length": `${head("POST /mcp HTTP/1.1", ...TYPE, "Content-Length: 0x2")}{}`,
      "an unknown coding": `${head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding: xchunked")}0\r\n\r\n`,
      "a coding before chunked": `${head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding: gzip, chunked")}0\r\n\r\n`,
      "chunked not last": `${head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding: chunked, identity")}0\r\n\r\n`,
      "a space before the colon": `${head("POST /mcp HTTP/1.1", ...TYPE, "Transfer-Encoding : chunked")}0\r\n\r\n`,
      "a folded header": `${head("POST /mcp HTTP/1.1", ...TYPE, "X: a", " Transfer-Encoding: chunked")}0\r\n\r\n`,
      "a bare line feed": "POST /mcp HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
      "a bare carriage return": "POST /mcp HTTP/1.1\r\nHost: localhost\rX: y\r\nContent-Length: 0\r\n\r\n",
      "a zero byte": head("POST /mcp HTTP/1.1", ...TYPE, "X: a\0b", "Content-Length: 0"),
      "a bad chunk size": `${chunked}0x1\r\na\r\n0\r\n\r\n`,
      "a chunk size too large for a number": `${chunked}fffffffffffffffff\r\n`,
      "a chunk without its end": `${chunked}1\r\nab0\r\n\r\n`,
      "no host": head("POST /mcp HTTP/1.1", "Content-Type: application/json", "Content-Length: 0"),
      "two hosts": head("POST /mcp HTTP/1.1", ...TYPE, "Host: localhost", "Content-Length: 0"),
      "an absolute target": `${head("POST http://evil.example/mcp HTTP/1.1", ...TYPE, "Content-Length: 2")}{}`,
      "a connect": head("CONNECT localhost:80 HTTP/1.1", "Host: localhost"),
      "an unknown version": head("POST /mcp HTTP/3.0", ...TYPE, "Content-Length: 0"),
      "no HTTP at all": "\u0016\u0003\u0001\r\n\r\n",
    };
    for (const [name, bytes] of Object.entries(shapes)) {
      await using client = await rawSocket(server.port);
      client.write(Buffer.from(bytes, "latin1"));
      // What follows must not be taken for a request of its own.
      client.write(post("smuggled"));
      client.end();
      const text = await client.closed();
      assert.ok(text === "" || /^HTTP\/1\.1 4\d\d /.test(text), `${name}: ${text}`);
      assert.ok(!text.includes("200 OK"), `${name}: ${text}`);
    }
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("closes the connection after an ambiguous head, and ignores what follows it", async () => {
    await using server = await serve();
    const twice = ["mcp-session-id: a", "Mcp-Session-Id: b"];
    const shapes = {
      "without a body": head("POST /mcp HTTP/1.1", ...TYPE, ...twice, "Content-Length: 0"),
      "with a body": `${head("POST /mcp HTTP/1.1", ...TYPE, ...twice, "Content-Length: 2")}{}`,
      "with a body in chunks": `${head("POST /mcp HTTP/1.1", ...TYPE, ...twice, "Transfer-Encoding: chunked")}2\r\n{}\r\n0\r\n\r\n`,
      "a GET": head("GET /mcp HTTP/1.1", "Host: localhost", "Accept: text/event-stream", ...twice),
      "two hosts": head("POST /mcp HTTP/1.1", ...TYPE, "Host: localhost", "Content-Length: 0"),
    };
    for (const [name, bytes] of Object.entries(shapes)) {
      await using client = await rawSocket(server.port);
      client.write(bytes + post("smuggled"));
      const text = await client.closed();
      assert.match(text, /^HTTP\/1\.1 400 [\s\S]*sent twice/, name);
      assert.equal(text.match(/connection: close/gi)?.length, 1, text);
      assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1, text);
    }
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("treats an upgrade request like any other", async () => {
    await using server = await serve();
    await using client = await rawSocket(server.port);
    client.write(post("{}", { connection: "upgrade", upgrade: "websocket" }));
    assert.match(await client.until(/\}$/), /^HTTP\/1\.1 200 /);
  });

  it("survives a thousand clients that disconnect at once, and retains nothing of them", async () => {
    await using server = await serve(
      {},
      { exchange: (exchange) => new Promise((done) => exchange.disconnected.addEventListener("abort", () => done({ status: 200 }))) },
    );
    const before = sockets();
    const shapes = [
      post("{}").slice(0, 20),
      post("{}").slice(0, -1),
      `${chunked}5\r\nab`,
      post("{}"),
      head("GET /mcp HTTP/1.1", "Host: localhost"),
    ];
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const client = await rawSocket(server.port);
          const shape = shapes[index % shapes.length] ?? "";
          await new Promise<void>((done) => client.socket.write(shape, () => done()));
          if (index % 2 === 0) await turn();
          client.socket.destroy();
        }),
      );
    }
    await using client = await rawSocket(server.port);
    client.write(head("GET /healthz HTTP/1.1", "Host: localhost"));
    await client.until("200 OK");
    await eventually(() => server.gateway.exchanges.every((exchange) => exchange.disconnected.aborted));
    assert.ok(server.gateway.exchanges.length > 200);
    client.socket.destroy();
    await eventually(() => sockets() <= before);
  });

  it("frees every event stream, however it ends", async () => {
    let open = 0;
    await using server = await serve(
      { streams: 64 },
      {
        exchange(exchange) {
          const channel = exchange.stream();
          if (channel.disconnected.aborted) return { status: 429 };
          open += 1;
          channel.disconnected.addEventListener("abort", () => (open -= 1));
          channel.send("{}");
          if (exchange.header("x-end") === undefined) return { status: 200, open: true };
          open -= 1;
          return { status: 200, body: "{}" };
        },
      },
    );
    for (let round = 0; round < 10; round += 1) {
      const clients = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const client = await rawSocket(server.port);
          client.write(index % 3 === 0 ? post("{}", { "x-end": "1" }) : post("{}"));
          await client.until("data: {}");
          return client;
        }),
      );
      for (const client of clients) client.socket.destroy();
      await eventually(() => open === 0);
    }
    // A seat that was not given back would be missing now.
    const last = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const client = await rawSocket(server.port);
        client.write(post("{}"));
        return { client, text: await client.until("\r\n\r\n") };
      }),
    );
    assert.ok(last.every(({ text }) => text.startsWith("HTTP/1.1 200")));
    for (const { client } of last) client.socket.destroy();
  });
});
