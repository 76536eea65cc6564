// `troupe serve` as a process: what it writes where, and how it ends.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "../clients.ts";
import { running, troupe } from "./run.ts";

const NOISY = `
import { actor, refuse } from "troupe";
console.log("noise of a module");
export const bell = actor("bell", {
  description: "A bell.", per: "shared", persistence: "memory",
  initial: () => ({ rung: 0 }),
  tools: {
    ring: { description: "Ring.", run({ state }) { console.log("noise of a turn"); state.rung += 1; return state.rung; } },
    crack: { description: "Break.", input: { type: "object", properties: { word: { type: "string" } } }, run({ args }) { throw new RangeError("cannot take " + args.word); } },
    pick: { description: "Open.", secret: ["pin"], input: { type: "object", properties: { pin: { type: "string" } } }, run({ args }) { throw new RangeError("cannot pick " + args.pin); } },
    flood: { description: "Ring and ring.", run() { console.log("the bell is flooding"); return "ding".repeat(250_000); } },
    toll: { description: "Ring slowly.", async work({ state }) { console.log("the bell is tolling"); await new Promise((done) => setTimeout(done, 400)); state.rung += 1; return "tolled"; } },
    hang: { description: "Ring for ever.", async work() { console.log("the bell hangs"); await new Promise((done) => setTimeout(done, 600_000)); return "rung"; } },
  },
});
`;

const folder = (): Disposable & { readonly path: string; readonly module: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-process-"));
  const module = join(path, "bell.ts");
  writeFileSync(module, NOISY);
  return { path, module, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

const request = (id: number, method: string, params: object): string => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const hello = request(0, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });

test("people are told how to connect, on standard error; standard output stays empty #cli.output #mud.start", async () => {
  using place = folder();
  await using served = running("serve", "examples/mud", "--http", "127.0.0.1:0", "--data", join(place.path, "data"));
  await served.said(/Ctrl-C stops it/);
  assert.match(served.err(), /HTTP +http:\/\/127\.0\.0\.1:\d+\/mcp/);
  assert.match(served.err(), /\{"mcpServers":\{"[^"]+":\{"type":"http","url":"http:\/\/127\.0\.0\.1:\d+\/mcp"\}\}\}/);
  assert.match(served.err(), /with \d+ tools/);
  assert.match(served.err(), /Data +\/.*data/);
  assert.doesNotMatch(served.err(), /listening/);
  assert.equal(served.out(), "");
});

test("over stdio nothing but the protocol reaches standard output, whatever a module prints, and the server ends with its input #cli.serve.stdio", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--stdio", "--json", "--data", join(place.path, "data"));
  served.child.stdin?.write(hello + request(1, "tools/call", { name: "ring", arguments: {} }));
  await served.said(/"id":1/);
  served.child.stdin?.end();
  assert.equal(await served.ended, 0);
  const written = served.out().trim().split("\n");
  assert.deepEqual(
    written.map((line) => JSON.parse(line).id),
    [0, 1],
  );
  assert.match(served.err(), /noise of a module/);
  assert.match(served.err(), /noise of a turn/);
  assert.match(served.err(), /"ready":true.*"stdio":true/);
});

test("at the end of input a call that outlasts the grace is answered, and the server ends", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--stdio", "--json", "--grace", "200", "--data", join(place.path, "data"));
  served.child.stdin?.write(hello + request(1, "tools/call", { name: "hang", arguments: {} }));
  await served.said(/the bell hangs/);
  served.child.stdin?.end();
  assert.equal(await served.ended, 0);
  const answer = JSON.parse(served.out().trim().split("\n").at(-1) ?? "");
  assert.deepEqual([answer.id, answer.error?.code], [1, -31503]);
});

test("on SIGTERM a call that runs is answered before the server ends, with 0 #cli.ready #cli.sigterm", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--http", "127.0.0.1:0", "--json", "--grace", "10000");
  await served.said(/"ready":true/);
  await using client = await connect({ http: String(JSON.parse(served.out()).http) }, { sdk: "v1", era: "legacy" });
  const tolled = client.call("toll");
  await served.said(/the bell is tolling/);
  served.child.kill("SIGTERM");
  assert.equal((await tolled).text, "tolled");
  assert.equal(await served.ended, 0);
});

test("the log says of a crash what, where and in which code, not with which arguments; in debug it says all but secrets #secure.logs #spec.7.error-logs", async () => {
  using place = folder();
  for (const level of ["error", "debug"]) {
    await using served = running("serve", place.module, "--stdio", "--json", "--log", level, "--data", join(place.path, "data"));
    served.child.stdin?.write(hello + request(1, "tools/call", { name: "crack", arguments: { word: "xyzzy" } }));
    await served.said(/"id":1[\s\S]*"event":"fault"/);
    assert.match(served.err(), /"event":"fault","error":"RangeError","place":"[^"]*bell\.ts:\d+:\d+"/);
    assert.equal(served.err().includes("xyzzy"), level === "debug");
    served.child.stdin?.write(request(2, "tools/call", { name: "pick", arguments: { pin: "plugh" } }));
    await served.said(/"id":2[\s\S]*"action":"tools\/pick","hasSecrets":true/);
    assert.equal(served.err().includes("plugh"), false);
    assert.equal(served.out().includes("xyzzy"), false);
    assert.equal(served.out().includes("bell.ts"), false);
  }
});

test("a promise a module lets go of ends nothing; an error thrown outside of every turn drains the server, which ends with 1", async () => {
  using place = folder();
  const module = join(place.path, "loose.ts");
  writeFileSync(
    module,
    `import { actor } from "troupe";
    export const loose = actor("loose", {
      description: "Loose ends.", persistence: "memory", initial: () => ({}),
      tools: {
        forget: { description: "Forget.", run() { void Promise.reject(new Error("xyzzy")); return "forgotten"; } },
        fling: { description: "Fling.", run() { setTimeout(() => { throw new Error("xyzzy"); }, 1); return "flung"; } },
      },
    });`,
  );
  await using served = running("serve", module, "--stdio", "--json");
  served.child.stdin?.write(hello + request(1, "tools/call", { name: "forget", arguments: {} }));
  await served.said(/"event":"stray-rejection","error":"Error"/);
  served.child.stdin?.write(request(2, "tools/call", { name: "fling", arguments: {} }));
  assert.equal(await served.ended, 1);
  assert.match(served.out(), /forgotten[\s\S]*flung/);
  assert.match(served.err(), /"event":"stray-error","error":"Error"[\s\S]*"code":"STRAY_ERROR"/);
  assert.doesNotMatch(served.err(), /xyzzy/);
});

test("chain --follow prints events as they come #cli.chain", async () => {
  using place = folder();
  const data = join(place.path, "data");
  const add = (): ReturnType<typeof troupe> =>
    troupe("call", "counter/main", "tools/add", "{}", "--start", "--module", "examples/counter-disk", "--data", data);
  assert.equal((await add()).code, 0);
  await using following = running("chain", "counter/main", "--follow", "--data", data);
  await following.said(/ 1 {2}\S+ {2}\S+ {2}tools\/add/);
  assert.equal((await add()).code, 0);
  await following.said(/ 2 {2}\S+ {2}\S+ {2}tools\/add/);
  following.child.kill("SIGINT");
  assert.equal(await following.ended, 0);
});

test("a server whose log nobody reads any more goes on, and ends when it is told to", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--http", "127.0.0.1:0", "--json", "--data", join(place.path, "data"));
  await served.said(/"ready":true/);
  const client = await connect({ http: String(JSON.parse(served.out()).http) }, { sdk: "v1", era: "legacy" });
  served.child.stderr?.destroy();
  served.child.stdout?.destroy();
  for (const word of ["one", "two"]) await client.call("crack", { word }).catch(() => undefined);
  assert.equal((await client.call("ring")).text, "1");
  await client[Symbol.asyncDispose]();
  served.child.kill("SIGTERM");
  assert.equal(await served.ended, 0);
});

test("a hang-up ends a server as SIGTERM does", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--http", "127.0.0.1:0", "--json");
  await served.said(/"ready":true/);
  served.child.kill("SIGHUP");
  assert.equal(await served.ended, 0);
  assert.match(served.err(), /"event":"stopping","why":"SIGHUP"/);
});

test("a client on stdio that reads nothing does not hold up a server that is told to stop", async () => {
  using place = folder();
  await using served = running("serve", place.module, "--stdio", "--json", "--grace", "100", "--data", join(place.path, "data"));
  const { child } = served;
  child.stdin?.write(hello);
  await served.said(/"id":0/);
  child.stdout?.removeAllListeners("data").pause();
  // More than a pipe holds.
  child.stdin?.write(request(1, "tools/call", { name: "flood", arguments: {} }));
  await served.said(/the bell is flooding/);
  const exited = new Promise<number | null>((done) => void child.once("exit", done));
  child.kill("SIGTERM");
  assert.equal(await exited, 0);
  child.stdout?.resume();
});
