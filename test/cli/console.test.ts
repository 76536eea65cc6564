// The console as the command line serves it: of a server, in development, and of stored actors.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { lines, running, type Running, runningIn, troupe } from "./run.ts";

const COUNTER = "examples/counter-disk";

interface Ready {
  readonly http?: string;
  readonly console?: string;
}

const ready = async (server: Running): Promise<Ready> => {
  await server.said(/"ready":true/);
  const line: unknown = lines(server.out())[0];
  assert.ok(typeof line === "object" && line !== null);
  return line;
};

/** The console's address and what is behind `#`. */
const linkOf = ({ console: link }: Ready): { readonly page: string; readonly token: string } => {
  const [page = "", token = ""] = (link ?? "").split("#token=");
  return { page, token };
};

const get = (url: string, token?: string): Promise<Response> =>
  fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });

const json = async (answer: Response): Promise<Readonly<Record<string, unknown>>> => Object(await answer.json());
const codeOf = async (answer: Response): Promise<readonly unknown[]> => [answer.status, Object((await json(answer))["error"])["code"]];

describe("the console of the command line", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-console-test-"));
  const data = join(folder, "data");
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("dev serves it by itself, with a token of this start in the link", async () => {
    await using server = running("dev", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json");
    const { page, token } = linkOf(await ready(server));
    assert.match(page, /^http:\/\/127\.0\.0\.1:\d+\/console$/);
    assert.match(token, /^[\w-]{43}$/);
    const html = await get(page);
    assert.equal(html.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(await html.text(), /<div id="app">/);
    assert.deepEqual(await codeOf(await get(`${page}/api`)), [401, "UNAUTHENTICATED"]);
    assert.deepEqual(await codeOf(await get(`${page}/api`, token.replace(/.$/, "."))), [401, "UNAUTHENTICATED"]);
    const about = await json(await get(`${page}/api`, token));
    assert.deepEqual([about["mode"], about["engine"], about["development"], about["place"]], ["live", "sqlite", true, data]);
  });

  test("dev prints the link for people, and --no-console leaves it out", async () => {
    await using server = running("dev", COUNTER, "--http", "127.0.0.1:0", "--data", data);
    await server.said(/Ctrl-C stops it/);
    assert.match(server.err(), /^ {2}Console +http:\/\/127\.0\.0\.1:\d+\/console#token=[\w-]{43}$/m);
    await using without = running("dev", COUNTER, "--http", "127.0.0.1:0", "--data", join(folder, "other"), "--no-console", "--json");
    const said = await ready(without);
    assert.equal(said.console, undefined);
    assert.equal((await get(new URL("/console", said.http).href)).status, 404);
  });

  test("serve has it with --console only", async () => {
    await using server = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json", "--console");
    const { page, token } = linkOf(await ready(server));
    assert.equal((await json(await get(`${page}/api`, token)))["development"], false);
    await using without = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", join(folder, "other"), "--json");
    assert.equal((await ready(without)).console, undefined);
  });

  test("a page that is open does not hold up the end of its server", async () => {
    // If it did, this would take all of that time.
    const grace = ["--grace", "3600000"];
    await using server = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json", "--console", ...grace);
    const { page, token } = linkOf(await ready(server));
    const stream = await get(`${page}/api/stream?watch=figures,changes,traffic`, token);
    assert.equal(stream.headers.get("content-type"), "text/event-stream");
    server.child.kill("SIGTERM");
    assert.match(await stream.text(), /^event: figures$/m);
    assert.equal(await server.ended, 0);
  });

  test("an actor that has failed is listed after a restart, and in a console without a server", async () => {
    const module = join(folder, "mill.ts");
    writeFileSync(
      module,
      `import { actor } from "troupe";
export const mill = actor("mill", {
  description: "A mill.",
  initial: () => ({ n: 0 }),
  restart: { max: 1, withinMs: 60_000 },
  tools: { grind: { description: "Grind.", run: ({ state }) => (state.n += 1) }, jam: { description: "Jam.", run() { throw new RangeError("A stone is in it."); } } },
});`,
    );
    const own = join(folder, "mill");
    const findings = async (server: Running): Promise<string> => {
      const { page, token } = linkOf(await ready(server));
      return JSON.stringify(await json(await get(`${page}/api/doctor`, token)));
    };
    {
      await using server = running("dev", module, "--http", "127.0.0.1:0", "--data", own, "--json");
      await ready(server);
      assert.equal((await troupe("call", "mill/one", "tools/grind", "--start", "--data", own)).code, 0);
      for (let n = 0; n < 2; n += 1) assert.equal((await troupe("call", "mill/one", "tools/jam", "--data", own)).code, 1);
      assert.match(await findings(server), /"ACTOR_FAILED","title":"mill\/one has failed: A stone is in it\."/);
      server.child.kill("SIGTERM");
      assert.equal(await server.ended, 0);
    }
    const before = /"FAILED_BEFORE","title":"mill\/one had failed before this start: A stone is in it\."/;
    {
      await using offline = running("console", "--data", own, "--json");
      assert.match(await findings(offline), before);
    }
    await using server = running("dev", module, "--http", "127.0.0.1:0", "--data", own, "--json");
    assert.match(await findings(server), before);
    assert.equal((await troupe("call", "mill/one", "tools/grind", "--data", own)).code, 0);
  });

  test("where callers have keys, its users sign in with one that has the scope troupe:operate", async () => {
    const keys = join(folder, "keys.json");
    const sha256 = (key: string): string => createHash("sha256").update(key).digest("hex");
    const operator = { sha256: sha256("operators-key-0123456789"), scopes: ["troupe:operate"] };
    writeFileSync(keys, JSON.stringify({ operator, other: { sha256: sha256("others-key-0123456789abc"), scopes: ["play"] } }));
    await using server = running("serve", COUNTER, "--http", "127.0.0.1:0", "--data", data, "--json", "--console", "--api-keys", keys);
    const { page, token } = linkOf(await ready(server));
    assert.equal(token, "");
    assert.equal((await get(page)).status, 200);
    assert.equal((await get(`${page}/api`)).status, 401);
    assert.deepEqual(await codeOf(await get(`${page}/api`, "others-key-0123456789abc")), [403, "SCOPE"]);
    assert.equal((await json(await get(`${page}/api`, "operators-key-0123456789")))["mode"], "live");
  });

  test("beyond this machine it is refused without sign-in, and dev leaves it out there", async () => {
    const open = ["--http", "0.0.0.0:0", "--insecure", "--data", join(folder, "open")];
    const refused = await troupe("serve", COUNTER, ...open, "--console");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /beyond this machine its users sign in: give --api-keys or --jwks/);
    const stdio = await troupe("serve", COUNTER, "--stdio", "--console", "--data", join(folder, "open"));
    assert.match(stdio.stderr, /--console is for a page next to MCP's HTTP: give --http/);
    const shown = await troupe("console", "--data", data, "--http", "0.0.0.0:0");
    assert.match(shown.stderr, /for this machine alone/);
    await using server = running("dev", COUNTER, ...open, "--json");
    assert.equal((await ready(server)).console, undefined);
  });

  test("a data directory and an exported history are read without a server, and nothing is changed", async () => {
    assert.equal((await troupe("call", "counter/main", "tools/add", "--start", "--data", data, "--module", COUNTER)).code, 0);
    const exported = join(folder, "all.jsonl.gz");
    assert.equal((await troupe("export", exported, "--data", data)).code, 0);
    // Its own: other tests have folders of that name, too.
    const temporary = mkdtempSync(join(folder, "tmp-"));
    for (const place of [data, exported]) {
      await using server = runningIn({ TMPDIR: temporary }, "console", "--data", place, "--json");
      const { page, token } = linkOf(await ready(server));
      assert.equal((await get(`${page}/api`)).status, 401);
      const about = await json(await get(`${page}/api`, token));
      assert.deepEqual([about["mode"], about["place"]], ["offline", place]);
      assert.deepEqual(Object(about["cannot"])["run"], "Nothing runs here: this is a history that is only read.");
      assert.match(JSON.stringify(about["kinds"]), /"kind":"counter".*"actors":1,"served":false/);
      assert.match(await (await get(page)).text(), /<div id="app">/);
      const mcp = await fetch(new URL("/mcp", page), { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
      assert.ok(!mcp.ok);
      server.child.kill("SIGTERM");
      assert.equal(await server.ended, 0);
    }
    assert.deepEqual(readdirSync(temporary), []);
    const missing = await troupe("console", "--data", join(folder, "nowhere"));
    assert.equal(missing.code, 4);
  });
});
