import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Cancellation } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { PacketError } from "./packet.ts";
import type { ForeignServers, ForeignServersOptions, StdioServer } from "./upstream-interface.ts";
import { foreignServers } from "./upstream-servers.ts";

// Against a process that misbehaves.

const folder = mkdtempSync(join(tmpdir(), "troupe-foreign-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const script = join(import.meta.dirname, "misbehaving.fixture.ts");
let files = 0;

/** A clock that stands still and records what is waited for. */
class WatchedClock extends SimulatedClock {
  readonly waits: number[] = [];
  override after(ms: number, run: () => void): () => void {
    this.waits.push(ms);
    return super.after(ms, run);
  }
}

interface Stage extends AsyncDisposable {
  readonly clock: WatchedClock;
  readonly servers: ForeignServers;
  readonly lines: readonly string[];
  /** Everything the server has received. */
  seen(): readonly string[];
  call(tool: string, n?: number): Promise<string>;
}

function stage(env: Readonly<Record<string, string>> = {}, options: Partial<ForeignServersOptions> = {}): Stage {
  const file = join(folder, `seen-${(files += 1)}`);
  const clock = new WatchedClock();
  const lines: string[] = [];
  const bad: StdioServer = { command: process.execPath, args: [script], env: { ...env, SEEN: file } };
  const servers = foreignServers({ servers: { bad }, clock, log: (server, line) => lines.push(`${server}: ${line}`), ...options });
  return {
    clock,
    servers,
    lines,
    seen: () => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []),
    call: async (tool, n = 0) => (await servers.get("bad").call(tool, { n })).text,
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const reasonIn = ({ details: { reason } }: PacketError): string => (typeof reason === "string" ? reason : "");

/** Checks the error and where it says that it happened. */
async function failure(call: Promise<unknown>, tool: string, reason: RegExp, type = "execution_failed"): Promise<PacketError> {
  const error: unknown = await call.then(
    () => assert.fail(`${tool} succeeded`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof PacketError, String(error));
  assert.equal(error.type, type);
  assert.deepEqual([error.details["server"], error.details["tool"]], ["bad", tool]);
  assert.match(reasonIn(error), reason);
  return error;
}

describe("foreignServers", () => {
  it("connects at the first call, once for all callers", async () => {
    await using all = stage();
    const [one, other] = await Promise.all([all.call("pid"), all.call("pid")]);
    assert.equal(one, other);
    assert.deepEqual(all.seen(), [`began ${one}`]);
    assert.deepEqual(await all.servers.get("bad").tools(), [{ name: "pid", description: "Its process.", inputSchema: { type: "object" } }]);
  });

  it("starts no process for a server that is not called", async () => {
    await using all = stage();
    all.servers.get("bad");
    assert.deepEqual(all.clock.waits, []);
  });

  it("supports a server of the modern era only", async () => {
    await using all = stage({ MODERN: "1" });
    assert.match(await all.call("pid"), /^\d+$/);
    assert.deepEqual(all.seen(), [], "no initialize");
  });

  it("lists the configured servers for an unknown name, inherited names included", async () => {
    await using all = stage();
    for (const name of ["good", "constructor", "__proto__"])
      assert.throws(() => all.servers.get(name), {
        type: "execution_failed",
        message: `There is no tool server "${name}". Configured: "bad".`,
      });
    await using none = foreignServers({ servers: {}, clock: all.clock });
    assert.throws(() => none.get("bad"), /Configured: none\./);
    assert.throws(() => foreignServers({ servers: { odd: { url: "file:///etc/passwd" } }, clock: all.clock }), { code: "BAD_DEFINITION" });
    for (const value of ["sec\nret", "secret\u{2603}"])
      assert.throws(
        () => foreignServers({ servers: { odd: { url: "http://127.0.0.1:1", headers: { "x-key": value } } }, clock: all.clock }),
        (error: unknown) => error instanceof Error && /its header x-key/.test(error.message) && !/sec|ret/.test(error.message),
      );
    const headers = { "x-key": "read from a file\r\n" };
    await using _sent = foreignServers({ servers: { odd: { url: "http://127.0.0.1:1", headers } }, clock: all.clock });
  });

  it("rejects the call whose server died, and restarts the server after a pause", async () => {
    await using all = stage();
    const first = await all.call("pid");
    await failure(all.call("die"), "die", /^its process has ended$/);
    const again = all.call("pid");
    await until("the pause", () => all.clock.waits.includes(250));
    assert.equal(all.seen().length, 1);
    await all.clock.advance(250);
    assert.notEqual(await again, first);
  });

  it("backs off from a server that fails to start, up to ten seconds", async () => {
    await using all = stage({}, { servers: { bad: { command: join(folder, "absent") } } });
    for (const pause of [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      const failed = failure(all.call("pid"), "pid", /ENOENT/);
      if (pause > 0) {
        await until(`a pause of ${pause} ms`, () => all.clock.waits.includes(pause));
        await all.clock.advance(pause);
      }
      await failed;
      all.clock.waits.length = 0;
    }
  });

  it("reports why a server is unavailable to a caller that waits for it", async () => {
    await using all = stage({}, { servers: { bad: { command: join(folder, "absent") } }, timeoutMs: 100 });
    await failure(all.call("pid"), "pid", /ENOENT/);
    const waits = failure(all.call("pid"), "pid", /no answer within 100 ms \(it is not connected: .*ENOENT/);
    await all.clock.advance(100);
    await waits;
  });

  it("aborts a handshake without an answer", async () => {
    await using all = stage({ DEAF: "1" });
    const failed = failure(all.call("pid"), "pid", /in time|within/);
    await until("the handshake", () => all.clock.pending === 2);
    await all.clock.advance(30_000);
    await failed;
  });

  it("times out a call, tells the server that it is cancelled, and continues with the same server", async () => {
    await using all = stage();
    const pid = await all.call("pid");
    const failed = failure(all.call("hang"), "hang", /^no answer within 30000 ms$/);
    await until("the call", () => all.seen().includes("hang"));
    await all.clock.advance(30_000);
    await failed;
    await until("the cancellation", () => all.seen().includes("cancelled"));
    assert.equal(await all.call("pid"), pid);
    await all.clock.advance(30_000);
    assert.equal(await all.call("pid"), pid, "what still answers is not ended");
  });

  it("cancels the call of an aborted caller, and starts none for a caller aborted before", async () => {
    await using all = stage();
    const cancellation = new Cancellation();
    const server = all.servers.get("bad", { signal: cancellation });
    const failed = failure(server.call("hang"), "hang", /the caller has gone/, "cancelled");
    await until("the call", () => all.seen().includes("hang"));
    cancellation.abort();
    await failed;
    await until("the cancellation", () => all.seen().includes("cancelled"));
    await failure(server.call("hang"), "hang", /the caller has gone/, "cancelled");
    assert.equal(all.seen().filter((what) => what === "hang").length, 1);
  });

  it("ends a process that no longer responds, and rejects all pending calls", async () => {
    await using all = stage();
    const pid = Number(await all.call("pid"));
    const failed = failure(all.call("stuck"), "stuck", /no answer within/);
    await until("the call", () => all.seen().includes("stuck"));
    await all.clock.advance(20_000);
    const later = failure(all.call("pid"), "pid", /no answer within/);
    await all.clock.advance(10_000);
    await failed;
    await all.clock.advance(20_000);
    await later;
    const last = failure(all.call("pid"), "pid", /^it does not answer any more$/);
    await all.clock.advance(10_000);
    await last;
    await until("the end of the process", () => !isAlive(pid));
  });

  it("refuses a result that is too large or too deep, and keeps the connection", async () => {
    await using all = stage({}, { maxBytes: 10_000, maxDepth: 8 });
    const pid = await all.call("pid");
    await failure(all.call("huge", 20_000), "huge", /bytes as JSON, and 10000 are allowed/);
    await failure(all.call("deep", 9), "deep", /deeper than 8 levels/);
    assert.equal((await all.call("huge", 9_000)).length, 9_000);
    assert.equal(await all.call("pid"), pid);
    const server = all.servers.get("bad");
    await failure(server.call("pid", { text: "x".repeat(10_000) }), "pid", /its arguments/);
    await failure(server.call("pid", { deep: [[[[[[[[1]]]]]]]] }), "pid", /its arguments/);
  });

  it("survives a result as deep as its size allows", async () => {
    await using all = stage({}, { timeoutMs: 1_000 });
    await all.call("pid");
    const failed = failure(all.call("deep", 400_000), "deep", /./);
    await until("an answer, or nothing of it", async () => (await all.call("pid")) !== "");
    await all.clock.advance(1_000);
    await failed;
  });

  for (const [tool, reason] of [
    ["huge", /maximum size/],
    ["flood", /more than 2000 messages in one second/],
    ["endless", /maximum size/],
  ] as const)
    it(`ends a server that sends without limit: ${tool}`, async () => {
      await using all = stage({}, { maxBytes: 10_000 });
      const pid = Number(await all.call("pid"));
      await failure(all.call(tool, 5_000_000), tool, reason);
      await until("the end of the process", () => !isAlive(pid));
      const again = all.call("pid");
      await until("the pause", () => all.clock.waits.includes(250));
      await all.clock.advance(250);
      assert.notEqual(Number(await again), pid);
    });

  it("turns a tool's failure, an unknown tool and an invalid result into errors", async () => {
    await using all = stage();
    const error = await failure(all.call("fail"), "fail", /^It is out of order\.$/);
    assert.equal(error.message, 'The tool "fail" of the server "bad" failed: It is out of order.');
    await failure(all.call("absent"), "absent", /There is no tool absent/);
    await failure(all.call("odd"), "odd", /./);
  });

  it("passes progress on to the caller", async () => {
    await using all = stage();
    const failed: unknown[] = [];
    const running = all.servers.get("bad", { progress: (...step) => failed.push(step) }).call("progress", { n: 3 });
    await until("all of it", () => failed.length === 3);
    await all.call("release");
    assert.equal((await running).text, "done");
    assert.deepEqual(failed, [
      [1, 3, "step 1"],
      [2, 3, "step 2"],
      [3, 3, "step 3"],
    ]);
  });

  it("passes PATH, HOME and declared variables to a process, and nothing else", async () => {
    const before = { ...process.env };
    Object.assign(process.env, { TOKEN_OF_TEST: "secret", USER: "ann", SHELL: "/bin/sh", TERM: "dumb", LOGNAME: "ann" });
    try {
      await using all = stage({ COLOUR: "green" });
      const failed: unknown = JSON.parse(await all.call("environment"));
      assert.ok(typeof failed === "object" && failed !== null);
      assert.deepEqual(Object.keys(failed).toSorted(), ["COLOUR", "HOME", "PATH", "SEEN"]);
    } finally {
      for (const name of ["TOKEN_OF_TEST", "USER", "SHELL", "TERM", "LOGNAME"]) {
        const was = before[name];
        if (was === undefined) delete process.env[name];
        else process.env[name] = was;
      }
    }
  });

  it("passes standard error on line by line, with limits", async () => {
    await using all = stage();
    await all.call("say", 3);
    await until("the last line", () => all.lines.includes("bad: last"));
    assert.deepEqual(all.lines.slice(0, 3), ["bad: line 0", "bad: line 1", "bad: line 2"]);
    assert.ok(all.lines.every((line) => line.length < 2_100));
    await all.call("say", 5_000);
    await all.call("pid");
    assert.ok(all.lines.length <= 201, `${all.lines.length} lines in one second`);
  });

  it("limits concurrent calls", async () => {
    await using all = stage({}, { maxCalls: 2 });
    const calls = [1, 2].map(() => failure(all.call("hang"), "hang", /no answer/));
    await failure(all.call("pid"), "pid", /2 calls are under way already/);
    await until("both calls", () => all.seen().filter((what) => what === "hang").length === 2);
    await all.clock.advance(30_000);
    await Promise.all(calls);
    assert.match(await all.call("pid"), /^\d+$/);
  });

  it("ends its processes when it is disposed, rejects pending calls, and accepts no more", async () => {
    const all = stage({ RUDE: "1" });
    const pid = Number(await all.call("pid"));
    const failed = failure(all.call("hang"), "hang", /closed/);
    await until("the call", () => all.seen().includes("hang"));
    await all[Symbol.asyncDispose]();
    await failed;
    await until("the end of the process", () => !isAlive(pid));
    assert.ok(all.seen().includes("SIGTERM"), "it was asked first");
    await failure(all.call("pid"), "pid", /closed/);
  });

  it("leaves no process running when its own ends", () => {
    const program = `
      import { foreignServers } from ${JSON.stringify(new URL("upstream-servers.ts", import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL("../../core/contract/index.ts", import.meta.url).href)};
      const servers = foreignServers({ clock: systemClock, servers: { bad: { command: process.execPath, args: [${JSON.stringify(script)}], env: { RUDE: "1" } } } });
      const { text } = await servers.get("bad").call("pid");
      process.stdout.write(text, () => process.exit(0));`;
    const ran = spawnSync(process.execPath, ["--conditions=troupe-source", "--input-type=module", "-e", program], { encoding: "utf8" });
    assert.match(ran.stdout, /^\d+$/, ran.stderr);
    return until("the end of the process", () => !isAlive(Number(ran.stdout)));
  });

  it("reports what to install if the client's package is missing", () => {
    const missing = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (name.startsWith("@modelcontextprotocol/")) throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
        return next(name, context);
      } });`)}`;
    const program = `
      import { foreignServers } from ${JSON.stringify(new URL("upstream-servers.ts", import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL("../../core/contract/index.ts", import.meta.url).href)};
      await using servers = foreignServers({ clock: systemClock, servers: { any: { command: "any" } } });
      await servers.get("any").call("any").catch((error) => console.log(error.type + ": " + error.message));`;
    const ran = spawnSync(process.execPath, ["--conditions=troupe-source", "--import", missing, "--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    assert.match(ran.stdout, /^execution_failed: .*npm install @modelcontextprotocol\/client/, ran.stderr);
  });
});
