import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSocket, createServer as createSocketServer } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Json } from "../../core/contract/index.ts";
import { until } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import type { Cluster } from "./index.ts";
import { gapsOf, Nodes } from "./nodes.fixture.ts";
import { peersKey, proofOf } from "./handshake.ts";
import { acceptor, greet, stranger } from "./stranger.fixture.ts";

/** The messages that a node gets under a topic. */
const hearing = (node: Cluster): Json[] => {
  const heard: Json[] = [];
  node.on("hint", (message) => void heard.push(message));
  return heard;
};
const TELL = { type: "tell", n: 1, topic: "hint", message: "from a stranger" };
const NAME = "abcdefgh01234567";

test("a client that knows the secret is admitted, also one written by hand", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const heard = hearing(a);
  const one = stranger(t, a.url, a.self, NAME);
  await greet(one);
  assert.equal(await one.lines.next("type"), "beat");
  one.lines.write(TELL);
  await until("it is heard", () => heard.length === 1);
  assert.deepEqual(
    a.status().map(({ node }) => node),
    [NAME],
  );
});

test("numbers continue from where the greeting starts", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const heard = hearing(a);
  const one = stranger(t, a.url, a.self);
  await greet(one, undefined, 41);
  assert.equal(await one.lines.next("type"), "beat");
  await nodes.clock.advance(300);
  const gaps = gapsOf(a);
  one.lines.write({ ...TELL, n: 42 });
  await until("it is heard", () => heard.length === 1);
  assert.equal(gaps(), 0);
  one.lines.write({ ...TELL, n: 44 });
  await until("it is heard, too", () => heard.length === 2);
  assert.equal(gaps(), 1);
});

test("another secret keeps nodes apart, on either side #cluster.secret", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const b = await nodes.join({ secret: Buffer.alloc(32, 8) });
  const heard = [hearing(a), hearing(b)];
  await until("it was noticed", () => nodes.count("peer-unreachable", "bad-proof") === 1);
  b.tell("hint", 1);
  assert.equal(await b.ask(a.self, "hint", 1), undefined);
  const one = stranger(t, a.url, a.self);
  await greet(one, Buffer.alloc(32, 8));
  one.lines.write(TELL);
  assert.equal(await one.lines.next("type"), undefined, "the stream ends without a word");
  assert.equal(nodes.count("peer-refused"), 1);
  assert.deepEqual(heard, [[], []]);
  assert.ok([a, b].every((node) => node.status().every((peer) => !peer.reached && !peer.heard)));
});

test("the acceptor's own proof is rejected when it is sent back", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const one = stranger(t, a.url, a.self);
  one.lines.write(one.greeting);
  const proof = await one.lines.next("proof");
  one.lines.write({ proof, n: 0 });
  assert.equal(await one.lines.next("type"), undefined);
  assert.equal(nodes.count("peer-refused", "bad-proof"), 1);
});

test("a proof of another greeting is rejected: name, url and nonces are part of it", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  for (const change of [{ from: NAME }, { url: "http://127.0.0.1:10" }, { nonce: "0".repeat(64) }, { to: NAME }]) {
    const one = stranger(t, a.url, a.self);
    one.lines.write(one.greeting);
    const nonce = String(await one.lines.next("nonce"));
    one.lines.write({ proof: proofOf(peersKey(Buffer.alloc(32, 7)), "caller", { ...one.greeting, ...change }, nonce), n: 0 });
    assert.equal(await one.lines.next("type"), undefined, JSON.stringify(change));
  }
  assert.deepEqual(a.status(), []);
});

test("a replayed stream is rejected #cluster.secret", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const port = Number(new URL(a.url).port);
  const recorded: Buffer[] = [];
  const tap = createSocketServer((socket) => {
    const onward = connectSocket(port, "127.0.0.1");
    for (const end of [socket, onward]) end.on("error", () => undefined);
    socket.on("data", (bytes) => {
      recorded.push(bytes);
      onward.write(bytes);
    });
    onward.pipe(socket);
    socket.once("close", () => onward.destroy());
  });
  await using loopback = await onLoopback(tap);
  const heard = hearing(a);
  const one = stranger(t, loopback.url, a.self, NAME);
  await greet(one);
  one.lines.write(TELL);
  await until("the node is heard", () => heard.length === 1);
  one.session.destroy();
  await until("it was removed", () => a.status().every((peer) => !peer.heard));

  const again = connectSocket(port, "127.0.0.1");
  t.after(() => again.destroy());
  again.on("error", () => undefined);
  again.resume();
  again.write(Buffer.concat(recorded));
  await until("it is refused", () => nodes.count("peer-refused", "bad-proof") === 1);
  assert.deepEqual(heard, ["from a stranger"]);
  assert.ok(a.status().every((peer) => !peer.heard));
});

test("an acceptor that does not know the secret gets no proof", async (t) => {
  const nodes = new Nodes(t);
  let proven = false;
  const url = await acceptor(t, NAME, () => (proven = true), Buffer.alloc(32, 9));
  nodes.members.list({ node: NAME, url });
  const a = await nodes.join();
  await until("it was noticed", () => nodes.count("peer-unreachable", "bad-proof") === 1);
  assert.equal(await a.ask(NAME, "hint", 1), undefined);
  assert.equal(proven, false);
});

test("an invalid greeting gets a status: nonsense, another node's, other paths and methods", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const cases: readonly (readonly [object, number])[] = [
    [{ to: NAME }, 421],
    [{ from: a.self }, 400],
    [{ from: "A" }, 400],
    [{ url: "https://127.0.0.1:9" }, 400],
    [{ url: "http://user:pass@127.0.0.1:9" }, 400],
    [{ url: 7 }, 400],
    [{ nonce: "short" }, 400],
  ];
  for (const [change, status] of cases) {
    const one = stranger(t, a.url, a.self);
    one.lines.write({ ...one.greeting, ...change });
    assert.equal(await one.status, status, JSON.stringify(change));
  }
  const { session } = stranger(t, a.url, a.self);
  for (const [headers, status] of [
    [{ ":path": "/troupe/peers" }, 405],
    [{ ":method": "POST", ":path": "/troupe/other" }, 404],
    [{ ":method": "POST", ":path": "/" }, 404],
    [{ ":method": "CONNECT", ":authority": "x:1" }, 405],
  ] as const) {
    const [answer] = await once(session.request(headers), "response");
    assert.equal(answer[":status"], status);
  }
});

test("frames of strangers, and of nodes, have a bounded size #cluster.secret", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const early = stranger(t, a.url, a.self);
  early.stream.write("x".repeat(3_000));
  assert.equal(await early.lines.next("nonce"), undefined);
  assert.equal(nodes.count("peer-refused", "too-long"), 1);
  const delayed = stranger(t, a.url, a.self);
  await greet(delayed);
  assert.equal(await delayed.lines.next("type"), "beat");
  delayed.lines.write({ ...TELL, message: "x".repeat(1_100_000) });
  assert.equal(await delayed.lines.next("never"), undefined);
  assert.equal(nodes.count("peer-lost", "too-long"), 1);
});

test("a node that sends nonsense is cut off, one that sends unknown types is not", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const heard = hearing(a);
  const bad: readonly unknown[] = [
    "nonsense",
    "[]",
    "null",
    { type: "tell", n: -1, topic: "hint", message: 1 },
    { type: "tell", n: 1.5, topic: "hint", message: 1 },
    { type: "tell", n: 1, topic: "hint" },
    { type: "tell", n: 1, topic: 5, message: 1 },
    { type: "beat" },
    { type: "ask", id: "1", topic: "hint", message: 1 },
    { type: "ask", id: 1, topic: "x".repeat(300), message: 1 },
    `{"type":"tell","n":1,"topic":"hint","message":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  ];
  for (const [index, frame] of bad.entries()) {
    const one = stranger(t, a.url, a.self, NAME);
    await greet(one);
    assert.equal(await one.lines.next("type"), "beat");
    one.lines.write(frame);
    assert.equal(await one.lines.next("never"), undefined);
    assert.equal(nodes.count("peer-lost", "bad-frame"), index + 1);
  }
  const one = stranger(t, a.url, a.self, NAME);
  await greet(one);
  for (const frame of [{ type: "new" }, {}, { type: "answer", id: 99, message: 1 }, TELL]) one.lines.write(frame);
  await until("it is heard", () => heard.length === 1);
  one.stream.write(Buffer.from('{"type":"new","text":"\xff"}\n', "latin1"));
  assert.equal(await one.lines.next("never"), undefined);
  assert.equal(nodes.count("peer-lost", "bad-frame"), bad.length + 1);
});

test("pending handshakes are bounded in number and time #cluster.secret", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join({ limits: { greetings: 2 } });
  const many = [0, 1, 2].map(() => stranger(t, a.url, a.self));
  const statuses = await Promise.race(many.map(({ status }) => status));
  assert.equal(statuses, 503, "the third has to wait");
  await nodes.clock.advance(5_000);
  await until("all were ended", () => many.every(({ lines }) => lines.ended));
  const next = stranger(t, a.url, a.self);
  await greet(next);
  assert.equal(await next.lines.next("type"), "beat");
});

test("a silent connection is closed", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const socket = connectSocket(Number(new URL(a.url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.resume();
  let ended = false;
  socket.once("close", () => (ended = true));
  await once(socket, "connect");
  await until("it is ended", async () => {
    await nodes.clock.advance(1_000);
    return ended;
  });
});

test("a silent node is considered dead, on both sides", async (t) => {
  const nodes = new Nodes(t);
  let removed = 0;
  const url = await acceptor(t, NAME, (stream) => {
    stream.resume();
    stream.once("close", () => (removed += 1));
  });
  nodes.members.list({ node: NAME, url });
  const a = await nodes.join();
  const one = stranger(t, a.url, a.self, NAME);
  await greet(one);
  await until("both streams are up", () => a.status().some(({ reached, heard }) => reached && heard));
  await nodes.clock.advance(300);
  const gaps = gapsOf(a);
  await nodes.clock.advance(6_000);
  await until("both streams are ended", () => removed === 1 && one.lines.ended && one.session.destroyed);
  assert.equal(nodes.count("peer-unreachable", "silent"), 1);
  assert.equal(nodes.count("peer-lost", "silent"), 1);
  await until("it is a gap", () => gaps() > 0);
});

test("a node that does not read costs a bounded queue, and notices the gap", async (t) => {
  const nodes = new Nodes(t);
  let paused: { resume(): unknown; on(event: "data", run: (bytes: Buffer) => void): unknown } | undefined;
  const url = await acceptor(t, NAME, (stream) => (paused = stream));
  nodes.members.list({ node: NAME, url });
  const a = await nodes.join({ limits: { frameBytes: 100_000, queueBytes: 300_000 } });
  await until("it is reached", () => a.status()[0]?.reached === true);
  const message = "x".repeat(50_000);
  for (let number = 0; number < 100; number += 1) {
    a.tell("hint", message);
    await turn();
  }
  const { dropped = 0, told: sent = 0 } = a.status()[0] ?? {};
  assert.equal(sent, 100);
  // The queue, plus two windows of 64 KiB and a socket's buffer.
  assert.ok(dropped >= 85, `${dropped} were dropped`);
  assert.equal(await a.ask(NAME, "hint", message), undefined, "an ask does not wait for room");
  let text = "";
  paused?.on("data", (bytes) => (text += bytes.toString()));
  paused?.resume();
  await until("what was queued arrives", () => (text.match(/"type":"tell"/g) ?? []).length === sent - dropped);
  await nodes.clock.advance(1_000);
  await until("the next heartbeat says how many there were", () => text.includes('{"type":"beat","n":100}'));
});
