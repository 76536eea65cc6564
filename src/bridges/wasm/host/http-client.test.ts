import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { LookupFunction } from "node:net";
import { test } from "node:test";
import { systemClock } from "../../../core/contract/index.ts";
import { SimulatedClock, until } from "../../../testing/index.ts";
import type { WitValue } from "../wit.ts";
import { type HttpLimits, isAllowed, isPublic, sendHttp } from "./http-client.ts";
import { asRecord } from "./values.ts";
import { type Loopback, onLoopback } from "../../../../test/on-loopback.ts";

const signal = new AbortController().signal;
const get = (uri: string, more: { readonly [name: string]: WitValue } = {}): WitValue => ({
  method: "GET",
  uri,
  headers: [],
  body: undefined,
  ...more,
});
const open = (request: WitValue, limits: HttpLimits = { allowPrivate: true }, allowed = ["*"]): ReturnType<typeof sendHttp> =>
  sendHttp(request, allowed, limits, systemClock, signal);

const serving = (listener: RequestListener): Promise<Loopback> => onLoopback(createServer(listener));

/** Resolves every name to this machine. */
const toLoopback: LookupFunction = (_, options, callback) =>
  options.all === true ? callback(null, [{ address: "127.0.0.1", family: 4 }]) : callback(null, "127.0.0.1", 4);

test("a request passes headers and body, but no hop-by-hop headers, and returns the response", async () => {
  const seen: unknown[] = [];
  await using server = await serving((request, response) => {
    void (async () => {
      const parts: unknown[] = [];
      for await (const part of request) parts.push(String(part));
      seen.push(request.method, request.url, request.headers, parts.join(""));
      response.writeHead(201, { "x-answer": "yes", "keep-alive": "timeout=9", "set-cookie": ["a=1", "b=2"] }).end("done");
    })();
  });
  const given = await open({
    method: "post",
    uri: `${server.url}/path?q=1`,
    headers: [
      ["X-Own", "1"],
      ["Host", "elsewhere"],
      ["Transfer-Encoding", "chunked"],
      ["content-length", "3"],
    ],
    body: new Uint8Array(Buffer.from("hello")),
  });
  assert.equal(given.lasting, true);
  const { status, headers, body } = asRecord(asRecord(given.result)["ok"]);
  assert.equal(status, 201);
  assert.ok(body instanceof Uint8Array && Buffer.from(body).toString() === "done");
  assert.deepEqual(Array.isArray(headers) && headers.filter(([name]: [string]) => name !== "Date"), [
    ["x-answer", "yes"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ]);
  assert.deepEqual(seen, [
    "POST",
    "/path?q=1",
    { host: `127.0.0.1:${server.port}`, "x-own": "1", "content-length": "5", connection: "close" },
    "hello",
  ]);
});

test("private, loopback, link-local, multicast and reserved addresses are blocked, however they are written", async () => {
  let asked = 0;
  await using server = await serving((_, response) => {
    asked += 1;
    response.end();
  });
  const { port } = server;
  const hosts = ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]", "10.0.0.1"];
  for (const host of [...hosts, "169.254.169.254", "[fe80::1]", "[fd00::1]", "224.0.0.1", "[ff02::1]", "[64:ff9b::7f00:1]"])
    await assert.rejects(open(get(`http://${host}:${port}/`), {}), /private, loopback or reserved/u, host);
  // DNS rebinding: the name resolves to this machine only at the second lookup. The checked address is used.
  const { result } = await open(get(`http://rebound.example:${port}/`), { lookup: toLoopback });
  assert.match(JSON.stringify(result), /private, loopback or reserved/u);
  const { result: local } = await open(get(`http://localhost:${port}/`), {});
  assert.match(JSON.stringify(local), /private, loopback or reserved/u);
  assert.equal(asked, 0);
  const { result: allowed } = await open(get(`http://rebound.example:${port}/`), { lookup: toLoopback, allowPrivate: true });
  assert.match(JSON.stringify(allowed), /"status":200/u);
});

test("only internet addresses are public", () => {
  for (const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "2a00::1"]) assert.equal(isPublic(address), true, address);
  const no = ["0.0.0.0", "100.64.0.1", "172.31.255.255", "192.168.1.1", "198.18.0.1", "203.0.113.9", "255.255.255.255", "2001::1"];
  for (const address of [...no, "2001:db8::1", "2002:7f00:1::", "::ffff:8.8.8.8", "fec0::1", "fe80::1%eth0", "", "x"])
    assert.equal(isPublic(address), false, address);
});

test("the allow list contains hosts and URL prefixes, matched by whole names and segments", () => {
  const table: readonly [string, string, boolean][] = [
    ["api.example", "https://api.example/x", true],
    ["api.example", "http://api.example:8080/x", false],
    ["api.example:8080", "http://api.example:8080/x", true],
    ["api.example", "https://API.example/", true],
    ["api.example", "https://api.example.evil.test/", false],
    ["api.example", "https://evilapi.example/", false],
    ["*.example", "https://a.b.example/", true],
    ["*.example", "https://example/", false],
    ["*.example", "https://evil-example/", false],
    ["https://api.example/v1", "https://api.example/v1", true],
    ["https://api.example/v1", "https://api.example/v1/a?b", true],
    ["https://api.example/v1", "https://api.example/v10", false],
    ["https://api.example/v1/", "https://api.example/v1/../admin", false],
    ["https://api.example/v1/", "https://api.example/v1/%2e%2e/admin", false],
    ["https://api.example/v1", "http://api.example/v1", false],
    ["https://api.example", "https://api.example.evil.test/", false],
    ["https://api.example", "https://api.example@evil.test/", false],
    ["[2001:db8::1]", "http://[2001:db8::1]/", true],
    ["*", "https://any.test/", true],
    ["://", "https://any.test/", false],
  ];
  for (const [entry, url, is] of table) assert.equal(isAllowed(new URL(url), [entry]), is, `${entry} ${url}`);
  assert.equal(isAllowed(new URL("https://any.test/"), []), false);
});

test("an invalid request is refused before anything is sent", async () => {
  const bad: readonly [WitValue, RegExp][] = [
    [get("/path"), /no absolute URL/u],
    [get("ftp://any.test/"), /Only http: and https:/u],
    [get("file:///etc/passwd"), /Only http: and https:/u],
    [get("https://me:secret@any.test/"), /holds no password/u],
    [get("https://any.test/", { method: "CONNECT" }), /not offered/u],
    [get("https://any.test/", { method: "TRACE" }), /not offered/u],
    [get(`https://any.test/${"x".repeat(9_000)}`), /no absolute URL/u],
    [get("https://any.test/", { body: new Uint8Array(11) }), /at most 10 bytes/u],
    [get("https://any.test/", { headers: Array.from({ length: 101 }, () => ["a", "b"]) }), /at most 100 headers/u],
  ];
  for (const [request, why] of bad) await assert.rejects(open(request, { maxBytes: 10 }), why);
  await assert.rejects(open(get("https://other.test/"), {}, ["any.test"]), /other\.test is not among the hosts/u);
});

test("redirects are returned, not followed; large, slow or broken responses are errors", async () => {
  const asked: string[] = [];
  await using server = await serving((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/away") response.writeHead(302, { location: "http://169.254.169.254/" }).end();
    else if (request.url === "/large") response.end("x".repeat(2_000));
    else if (request.url === "/cut") {
      response.write("x");
      response.socket?.destroy();
    }
  });
  const limits = { allowPrivate: true, maxBytes: 1_000 };
  const { result: away } = await open(get(`${server.url}/away`), limits);
  assert.match(JSON.stringify(away), /"status":302.*169\.254\.169\.254/u);
  assert.match(JSON.stringify((await open(get(`${server.url}/large`), limits)).result), /more than 1000 bytes/u);
  assert.match(JSON.stringify((await open(get(`${server.url}/cut`), limits)).result), /"err":"GET http:/u);
  const bad = await open(get(`${server.url}/`, { headers: [["a b", "c"]] }), limits);
  assert.match(JSON.stringify(bad.result), /"err":"GET http:/u);
  const clock = new SimulatedClock();
  const slow = sendHttp(get(`${server.url}/slow`), ["*"], limits, clock, signal);
  await until("it is asked", () => asked.includes("/slow"));
  await clock.advance(30_000);
  assert.match(JSON.stringify((await slow).result), /longer than 30000 ms/u);
  const leaving = new AbortController();
  const left = sendHttp(get(`${server.url}/left`), ["*"], limits, clock, leaving.signal);
  await until("it is asked", () => asked.includes("/left"));
  leaving.abort(new Error("the call is over"));
  assert.match(JSON.stringify((await left).result), /the call is over/u);
  assert.equal(clock.pending, 0);
});
