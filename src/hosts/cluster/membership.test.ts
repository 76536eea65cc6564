import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { test } from "node:test";
import { systemClock, TroupeError, type Json } from "../../core/contract/index.ts";
import { until } from "../../testing/index.ts";
import { type Cluster, joinCluster } from "./index.ts";
import { MemoryMembers } from "./members.fixture.ts";
import { gapsOf, Nodes, SECRET } from "./nodes.fixture.ts";
import { peerUrl } from "./cluster-options.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

const portOf = (node: Cluster): number => Number(new URL(node.url).port);
const names = (node: Cluster): readonly string[] => node.status().map((peer) => peer.node);
/** An address without a server: port 9 of loopback refuses connections. */
const DEAD = { node: "deaddeaddeaddead", url: "http://127.0.0.1:9" };

test("a node renews its lease three times as often as needed, and gives it back when it leaves", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  assert.deepEqual(nodes.members.listed(), [{ node: a.self, url: a.url }]);
  await nodes.clock.advance(15_000);
  assert.equal(nodes.members.requests, 4);
  await a[Symbol.asyncDispose]();
  assert.deepEqual(nodes.members.listed(), []);
  await a[Symbol.asyncDispose]();
  assert.equal(nodes.clock.pending, 0, "nothing is left of it");
  a.tell("hint", 1);
  assert.equal(await a.ask("0123456789abcdef", "hint", 1), undefined);
  assert.deepEqual(a.status(), []);
});

test("a node that connects is known at once, before the registry lists it", async (t) => {
  const nodes = new Nodes(t);
  const a = await nodes.join();
  const requests = nodes.members.requests;
  const b = await nodes.join();
  b.on("now", () => "now");
  await until("the first one reaches the second", async () => (await a.ask(b.self, "now", null)) === "now");
  assert.equal(nodes.members.requests, requests + 1, "only the second has requested it");
});

test("a member that does not answer is retried less and less, and is removed with its lease", async (t) => {
  const nodes = new Nodes(t);
  nodes.members.list(DEAD, 20_000);
  const [a, b, c] = await Promise.all([nodes.join(), nodes.join(), nodes.join()]);
  a.on("now", () => "now");
  await until("the living reach each other", () => [a, b, c].every((node) => node.status().filter(({ reached }) => reached).length === 2));
  assert.ok(names(a).includes(DEAD.node));
  assert.equal(await b.ask(a.self, "now", null), "now");
  await until("it is noticed", () => nodes.count("peer-unreachable") === 3);
  await nodes.clock.advance(100);
  assert.equal(await b.ask(DEAD.node, "now", null), undefined);
  await until("it is forgotten by all", async () => {
    await nodes.clock.advance(1_000);
    return [a, b, c].every((node) => !names(node).includes(DEAD.node));
  });
  assert.equal(nodes.count("peer-unreachable"), 3, "it is logged once");
  await Promise.all([a, b, c].map((node) => node[Symbol.asyncDispose]()));
  assert.equal(nodes.clock.pending, 0, "nothing tries any more");
});

test("a node that could not be reached is retried at once when it connects", async (t) => {
  const nodes = new Nodes(t);
  const before = await nodes.join({ self: "beforebefore0000" });
  const listen = { port: portOf(before) };
  await before[Symbol.asyncDispose]();
  const self = "afterafterafter0";
  nodes.members.list({ node: self, url: before.url });
  const a = await nodes.join();
  await until("it waits", () => nodes.count("peer-unreachable") === 1);
  await nodes.join({ self, listen });
  await until("it is reached, though no time went by", () => a.status()[0]?.reached === true);
});

test("a member whose stream does not reach this node makes each renewal a gap", async (t) => {
  const nodes = new Nodes(t);
  nodes.members.list(DEAD);
  const a = await nodes.join();
  await nodes.clock.advance(1_000);
  const gaps = gapsOf(a);
  await nodes.clock.advance(4_500);
  assert.equal(gaps(), 1);
  await nodes.clock.advance(5_000);
  assert.equal(gaps(), 2);
});

for (const away of ["fails", "hangs"] as const) {
  test(`a registry that ${away} changes nothing`, async (t) => {
    const nodes = new Nodes(t);
    const [a, b] = await nodes.pair();
    b.on("now", () => "now");
    nodes.members.away = away;
    const requests = nodes.members.requests;
    await until("it was requested again and again", async () => {
      await nodes.clock.advance(1_000);
      return nodes.members.requests >= requests + 6;
    });
    assert.deepEqual([names(a), names(b)], [[b.self], [a.self]]);
    await until("they reach each other", async () => (await a.ask(b.self, "now", null)) === "now");
    assert.equal(nodes.count("members-unreachable"), 2, "each says it once");
    const leaving = b[Symbol.asyncDispose]();
    await until("leaving waits for a bounded time", async () => {
      await nodes.clock.advance(1_000);
      return nodes.count("members-unreachable") === 3;
    });
    await leaving;
  });
}

test("a registry that is unavailable at the start is requested again", async (t) => {
  const nodes = new Nodes(t);
  nodes.members.away = "fails";
  const [a, b] = [await nodes.join(), await nodes.join()];
  assert.deepEqual([names(a), names(b)], [[], []]);
  nodes.members.away = "no";
  await nodes.clock.advance(5_000);
  await until("they find each other", () => [a, b].every((node) => node.status().some(({ reached, heard }) => reached && heard)));
});

test("entries of the registry are checked: names, urls, itself", async (t) => {
  const nodes = new Nodes(t);
  const bad = [
    "https://127.0.0.1:9",
    "http://user:pass@127.0.0.1:9",
    "http://127.0.0.1:9/path",
    "http://127.0.0.1:9?q",
    "file:///etc",
    "x",
    "",
  ];
  bad.forEach((url, index) => nodes.members.list({ node: `bad000000000000${index}`, url }));
  for (const node of ["", "short", "ABCDEFGH01234567", "../../../../../.."]) nodes.members.list({ node, url: DEAD.url });
  const broken: Json[] = [null, 1, "text", [], { node: "deaddeaddeaddead" }];
  const seen = nodes.members.seen.bind(nodes.members);
  t.mock.method(nodes.members, "seen", async (...args: Parameters<typeof seen>) => [...broken, ...(await seen(...args))]);
  const a = await nodes.join();
  assert.deepEqual(a.status(), []);
  t.mock.method(nodes.members, "seen", async () => "nonsense");
  await nodes.clock.advance(5_000);
  assert.deepEqual(a.status(), []);
});

test("the number of known nodes is bounded", async (t) => {
  const nodes = new Nodes(t);
  for (let index = 0; index < 9; index += 1) nodes.members.list({ node: `dead00000000000${index}`, url: DEAD.url });
  const a = await nodes.join({ limits: { peers: 4 } });
  assert.equal(a.status().length, 4);
});

test("a node that is replaced at the same address: the new one is found, the old one removed", async (t) => {
  const nodes = new Nodes(t);
  const [a, b] = await nodes.pair();
  const gaps = gapsOf(a);
  const port = portOf(b);
  await b[Symbol.asyncDispose]();
  // As if killed: its lease stays.
  nodes.members.list({ node: b.self, url: b.url });
  await until("it is lost", () => a.status().every(({ reached, heard }) => !reached && !heard));
  const c = await nodes.join({ listen: { port } });
  assert.equal(c.url, b.url);
  c.on("now", () => "now");
  await until("the new one is reached", async () => (await a.ask(c.self, "now", null)) === "now");
  assert.equal(await a.ask(b.self, "now", null), undefined);
  await until("the new one does not answer for the old one", async () => {
    await nodes.clock.advance(50);
    return nodes.count("peer-refused", "not-me") > 0;
  });
  nodes.members.list({ node: b.self, url: b.url }, 1);
  await until("the old one is forgotten", async () => {
    await nodes.clock.advance(500);
    return names(a).join() === c.self;
  });
  await until("it was a gap", () => gaps() > 0);
});

test("a broken stream is opened again", async (t) => {
  const nodes = new Nodes(t);
  const { server, sessions, url } = await plainServer(t);
  const a = await nodes.join();
  let mounted: Cluster | undefined;
  server.on("request", (request, response) => {
    if (mounted?.handle(request, response) !== true) response.writeHead(404).end();
  });
  mounted = await joinCluster({ secret: SECRET, members: nodes.members, clock: nodes.clock, url });
  const b = mounted;
  t.after(() => b[Symbol.asyncDispose]());
  await until("they hear each other", () => [a, b].every((node) => node.status().some(({ reached, heard }) => reached && heard)));
  await nodes.clock.advance(300);
  const gaps = gapsOf(b);
  const heard: Json[] = [];
  b.on("hint", (message) => void heard.push(message));
  a.tell("hint", 1);
  await until("it hears", () => heard.length === 1);
  for (const session of sessions) session.destroy();
  await until("it is lost", () => a.status().every(({ reached }) => !reached));
  a.tell("hint", "lost");
  await until("it is back", async () => {
    await nodes.clock.advance(50);
    return a.status().some(({ reached }) => reached);
  });
  a.tell("hint", 2);
  await until("it hears again", () => heard.length === 2);
  assert.deepEqual(heard, [1, 2]);
  assert.ok(gaps() > 0);
});

test("it shares a server with other HTTP/2 services", async (t) => {
  const members = new MemoryMembers(systemClock);
  const { server, url } = await plainServer(t);
  let node: Cluster | undefined;
  server.on("request", (request, response) => {
    if (node?.handle(request, response) === true) return;
    request.resume();
    response.writeHead(200).end("something else");
  });
  node = await joinCluster({ secret: SECRET, members, url });
  const mounted = node;
  t.after(() => mounted[Symbol.asyncDispose]());
  mounted.on("now", () => "now");
  const other = await joinCluster({ secret: SECRET, members, listen: {} });
  t.after(() => other[Symbol.asyncDispose]());
  await until("it answers", async () => (await other.ask(mounted.self, "now", null)) === "now");
  const session = connect(url);
  t.after(() => session.destroy());
  for (const [path, text] of [
    ["/other", "something else"],
    ["/troupe", "something else"],
    ["/troupe/other", ""],
  ] as const) {
    const stream = session.request({ ":path": path });
    let body = "";
    stream.on("data", (bytes: Buffer) => (body += bytes.toString()));
    await once(stream, "end");
    assert.equal(body, text, path);
  }
  await mounted[Symbol.asyncDispose]();
  const [answer] = await once(session.request({ ":method": "POST", ":path": "/troupe/peers" }), "response");
  assert.equal(answer[":status"], 503);
});

test("options are checked", async () => {
  const members = new MemoryMembers(systemClock);
  const good = { secret: SECRET, members, listen: {} };
  const bad = [
    { ...good, secret: Buffer.alloc(31) },
    { ...good, self: "UPPER" },
    { ...good, url: "https://127.0.0.1:1" },
    { ...good, url: "http://127.0.0.1:1/path" },
    { ...good, listen: { host: "0.0.0.0" } },
    { ...good, limits: { askMs: 0 } },
    { ...good, limits: { queueBytes: 1_000 } },
    { secret: SECRET, members },
  ];
  for (const options of bad) {
    await assert.rejects(joinCluster(options), (error) => error instanceof TroupeError && error.code === "BAD_OPTION");
  }
  const first = await joinCluster(good);
  try {
    const taken = { ...good, listen: { port: portOf(first) } };
    await assert.rejects(joinCluster(taken), (error) => error instanceof TroupeError && error.code === "BAD_ADDRESS");
  } finally {
    await first[Symbol.asyncDispose]();
  }
});

test("a url has one canonical form", () => {
  assert.equal(peerUrl("http://127.0.0.1:3000/"), "http://127.0.0.1:3000");
  assert.equal(peerUrl("HTTP://Node-1.Example:80"), "http://node-1.example");
  assert.equal(peerUrl("http://[::1]:3000"), "http://[::1]:3000");
  for (const text of [
    undefined,
    7,
    "",
    "http://",
    "//host",
    "ftp://host",
    "http://a@host",
    "http://host/#x",
    `http://${"a".repeat(600)}`,
  ]) {
    assert.equal(peerUrl(text), undefined, String(text));
  }
});

/** A server of another owner. */
async function plainServer(t: {
  after(run: () => Promise<void>): void;
}): Promise<{ server: Http2Server; sessions: Set<ServerHttp2Session>; url: string }> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const loopback = await onLoopback(server);
  t.after(() => loopback[Symbol.asyncDispose]());
  return { server, sessions, url: loopback.url };
}
