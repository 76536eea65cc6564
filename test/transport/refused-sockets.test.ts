// A refused client that holds its side of the connection open must not hold ours open.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { authenticator, hashApiKey, serveHttp, serveTcp } from "../../src/mcp/transport/index.ts";
import { SimulatedClock } from "../../src/testing/index.ts";
import { serveTheater } from "../../src/bridges/theater/server/serve-theater.ts";
import { MemoryStage } from "../../src/bridges/theater/server/memory-stage.fixture.ts";
import { fakeGateway } from "./fake-gateway.ts";
import { head, rawSocket } from "./raw-socket.ts";
import { eventually } from "./settle.ts";

const KEY = "a-key-of-at-least-sixteen-characters";
const auth = () => authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });

const UPGRADE = ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
const WITH_KEY = [...UPGRADE, "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="];

async function serveWebSockets(clock: SimulatedClock, streams = 100) {
  const gateway = fakeGateway();
  return await serveHttp({
    gateway,
    clock,
    limits: { streams },
    upgrades: [{ path: "/socket", connect: (channel, caller) => gateway.connect(channel, caller) }],
  });
}

interface Door extends AsyncDisposable {
  readonly port: number;
}

type Case = readonly [what: string, open: (clock: SimulatedClock) => Promise<Door>, sent: string | Uint8Array, answer: RegExp];

const CASES: readonly Case[] = [
  ["what is no HTTP", serveWebSockets, "NONSENSE\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["CONNECT", serveWebSockets, head("CONNECT example.com:443 HTTP/1.1", "host: example.com:443"), /^$/],
  ["an unknown Host", serveWebSockets, head("GET /mcp HTTP/1.1", "host: evil.example"), /^HTTP\/1\.1 403 /],
  ["an unknown expectation", serveWebSockets, head("GET /mcp HTTP/1.1", "host: 127.0.0.1", "expect: tea"), /^HTTP\/1\.1 417 /],
  [
    "a WebSocket with an unknown Host",
    serveWebSockets,
    head("GET /socket HTTP/1.1", "host: evil.example", ...WITH_KEY),
    /^HTTP\/1\.1 403 /,
  ],
  [
    "a WebSocket with a bad key",
    serveWebSockets,
    head("GET /socket HTTP/1.1", "host: 127.0.0.1", ...UPGRADE, "sec-websocket-key: bad"),
    /^HTTP\/1\.1 400 /,
  ],
  ["a TCP client that speaks no JSON", (clock) => serveTcp({ gateway: fakeGateway(), clock }), "GET / HTTP/1.1\r\n", /-32700/],
  [
    "a TCP client without a token",
    async (clock) => serveTcp({ gateway: fakeGateway(), clock, auth: await auth() }),
    '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    /-31401/,
  ],
  [
    "a Theater frame that is too long",
    (clock) => serveTheater({ stage: new MemoryStage(), clock }),
    Uint8Array.of(255, 255, 255, 255, 1),
    /InvalidRequest/,
  ],
];

describe("a refused socket is closed even if its client never closes it", () => {
  for (const [what, open, sent, answer] of CASES)
    test(what, async () => {
      const clock = new SimulatedClock();
      await using door = await open(clock);
      await using client = await rawSocket({ host: "127.0.0.1", port: door.port, allowHalfOpen: true });
      client.write(sent);
      assert.match(await client.closed(), answer);
      await clock.advance(1_000);
      // A socket that is only half closed would accept this data forever.
      await eventually(() => {
        client.write("x");
        return client.socket.destroyed;
      }, "the end of the connection");
    });
});

test("a WebSocket handshake that fails takes no stream", async () => {
  await using door = await serveWebSockets(new SimulatedClock(), 1);
  await using failed = await rawSocket({ host: "127.0.0.1", port: door.port, allowHalfOpen: true });
  failed.write(head("GET /socket HTTP/1.1", "host: 127.0.0.1", ...UPGRADE, "sec-websocket-key: bad"));
  await failed.closed();
  await using good = await rawSocket(door.port);
  good.write(head("GET /socket HTTP/1.1", "host: 127.0.0.1", ...WITH_KEY));
  assert.match(await good.until("\r\n\r\n"), /^HTTP\/1\.1 101 /);
  await using second = await rawSocket(door.port);
  second.write(head("GET /socket HTTP/1.1", "host: 127.0.0.1", ...WITH_KEY));
  assert.match(await second.closed(), /^HTTP\/1\.1 429 /);
});
