import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempDisposableSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { connect } from "../clients.ts";
import { root, serveChild } from "../serve-child.ts";
import { lines, troupe } from "./run.ts";
import { onLoopback } from "../on-loopback.ts";

const post = (url: string, message: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(message),
  });

const initialize = (url: string): Promise<Response> => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  return post(url, { jsonrpc: "2.0", id: 1, method: "initialize", params });
};

describe("troupe serve", () => {
  test("prints one line with every address once it is ready, and picks free ports for port 0 #cli.serve #cli.port-0 #cli.ready", async () => {
    await using served = await serveChild(["examples/counter-disk", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    assert.match(String(served.ready.http), /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    assert.match(String(served.ready.tcp), /^tcp:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(served.ready.data, served.data);
    await using http = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
    await using tcp = await connect({ tcp: String(served.ready.tcp) }, { sdk: "v2", era: "legacy" });
    assert.equal((await http.call("add", { by: 2 })).text, "2");
    assert.equal((await tcp.call("add", { by: 3 })).text, "5");
  });

  test("ends with 0 on SIGTERM, after running calls #cli.sigterm", async () => {
    const served = await serveChild(["examples/counter-disk"]);
    await served[Symbol.asyncDispose]();
    assert.equal(await served.ended, 0);
  });

  test("a second server on the same directory is told who has it, and ends with 6 #store.lock", async () => {
    await using served = await serveChild(["examples/counter-disk"]);
    const second = await troupe("serve", "examples/counter-disk", "--http", "127.0.0.1:0", "--data", served.data, "--json");
    assert.equal(second.code, 6, second.stderr);
    assert.match(second.stderr, /STORE_LOCKED/);
    assert.match(second.stderr, new RegExp(String(served.child.pid)));
  });

  test("memory actors leave no directory behind", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
    const data = join(folder.path, "none");
    {
      await using served = await serveChild(["examples/counter"], { data });
      assert.equal(served.ready.data, undefined);
    }
    assert.throws(() => rmSync(data, { recursive: true }), /ENOENT/);
  });

  test("name=module puts two of a kind under prefixes #cli.modules.folder", async () => {
    await using served = await serveChild(["one=examples/counter", "two=examples/door"]);
    await using client = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
    const names = (await client.tools()).map((tool) => tool.name);
    assert.ok(names.includes("one__add") && names.includes("two__open"), names.join(" "));
    assert.equal((await client.call("one__add", { by: 4 })).text, "4");
  });

  test("names are of letters, digits and underscores, or with --names dots of dots too #cli.serve.strict", async () => {
    for (const [args, names] of [
      [[], ["one__add", "one__get"]],
      [
        ["--names", "dots"],
        ["one.add", "one.get"],
      ],
    ] as const) {
      await using served = await serveChild(["one=examples/counter", ...args]);
      await using client = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
      assert.deepEqual((await client.tools()).map((tool) => tool.name).toSorted(), names);
    }
  });

  test("who lists once is shown all tools with --legacy-lists static", async () => {
    await using served = await serveChild(["examples/door", "--legacy-lists", "static"]);
    await using client = await connect({ http: String(served.ready.http) }, { sdk: "v1", era: "legacy" });
    const names = (await client.tools()).map((tool) => tool.name);
    assert.deepEqual(names.filter((name) => name === "close" || name === "open").toSorted(), ["close", "open"]);
    const told = await client.call("close");
    assert.deepEqual([told.isError, told.text], [true, "It is not open."]);
  });

  test("says what is wrong with the command line, with code 2 #cli.exit-codes #spec.7.error-messages", async () => {
    for (const [args, sentence] of [
      [["serve", "examples/nowhere"], /There is no examples\/nowhere/],
      [["serve", "examples/counter", "--http", "localhost:99999"], /\[host:\]port/],
      [["serve", "examples/counter", "--htp", "3000"], /--http/],
      [["serve", "examples/counter", "--name", ""], /--name.* must not be empty/],
      [["serve", "examples/counter", "--session-ttl", "90"], /a time such as 30d, 12h or 90m/],
      [["serve", "examples/counter", "--connections-per-peer", "0"], /a whole number of 1 or more/],
      [["serve", "examples/counter", "--http", "127.0.0.1:0", "--allow-origin", "app.example"], /has to be a list of origins/],
      [["serve", "test/architecture.test.ts".replace("architecture.test.ts", "cli/run.ts")], /exports nothing to serve/],
      [["serve"], /There is nothing to serve: name a module/],
    ] as const) {
      const ran = await troupe(...args);
      assert.equal(ran.code, 2, `${args.join(" ")}: ${ran.stderr}`);
      assert.match(ran.stderr, sentence);
    }
  });

  test("refuses an option that stands without what it is for, before a module is loaded", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
    const keys = join(folder.path, "keys.json");
    writeFileSync(keys, JSON.stringify({ ann: "0".repeat(64) }));
    const broken = join(folder.path, "broken.ts");
    writeFileSync(broken, "throw new Error('loaded');\n");
    for (const [option, args, sentence] of [
      ["--require-scope", ["orders"], /give --api-keys or --jwks/],
      ["--resource", ["https://troupe.example/mcp"], /give --api-keys or --jwks/],
      ["--audience", ["troupe"], /give --jwks and --issuer/],
      ["--audience", ["troupe", "--api-keys", keys], /give --jwks and --issuer/],
      ["--token-type", ["at+jwt"], /give --jwks and --issuer/],
      ["--claims", ["roles,tenant"], /give --jwks and --issuer/],
      ["--scopes-claim", ["roles"], /give --jwks and --issuer/],
      ["--no-auth", [], /give --packets or --theater/],
      ["--insecure-no-auth", [], /give --theater-tcp/],
      ["--as", ["ann"], /give --stdio or --tcp with a path/],
      ["--scope", ["orders"], /give --as/],
      ["--node", ["9080"], /give --engine/],
      ["--advertise", ["http://10.0.0.1:9080"], /give --engine/],
      ["--secret-file", [keys], /give --engine/],
      ["--identity-key", ["publickeyv1_x"], /give --engine/],
    ] as const) {
      const ran = await troupe("serve", broken, "--http", "127.0.0.1:0", option, ...args);
      assert.equal(ran.code, 2, `${option}: ${ran.stderr}`);
      assert.ok(ran.stderr.startsWith(`troupe: ${option} is for `), ran.stderr);
      assert.match(ran.stderr, sentence);
    }
  });

  test("refuses what is for clients of HTTP where there is none", async () => {
    for (const [option, value, sentence] of [
      ["--session-ttl", "12h", /sessions over HTTP: give --http/],
      ["--connections-per-peer", "1000", /give --http, or --tcp with a port/],
    ] as const) {
      const ran = await troupe("serve", "examples/counter", "--stdio", option, value);
      assert.equal(ran.code, 2, ran.stderr);
      assert.match(ran.stderr, sentence);
    }
  });

  test("tells clients the name, title and version that it was given", async () => {
    const given = ["--name", "desk", "--title", "The desk", "--server-version", "4.2.0"];
    await using served = await serveChild(["examples/counter", ...given]);
    const response = await initialize(String(served.ready.http));
    const { serverInfo } = Object(await response.json()).result;
    assert.deepEqual(serverInfo, { name: "desk", title: "The desk", version: "4.2.0" });
  });

  test("ends a session that was left alone for as long as --session-ttl says", async () => {
    const statusAfter = async (idleMinutes: number, args: readonly string[]): Promise<number> => {
      using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
      const serve = (): ReturnType<typeof serveChild> => serveChild(["examples/counter-disk", ...args], { data: folder.path });
      const session = await (async () => {
        await using served = await serve();
        return (await initialize(String(served.ready.http))).headers.get("mcp-session-id") ?? "";
      })();
      {
        using database = new DatabaseSync(join(folder.path, "sessions.db"));
        const ms = idleMinutes * 60_000;
        database.exec(`UPDATE session SET seen = seen - ${ms}`);
      }
      await using served = await serve();
      return (await post(String(served.ready.http), { jsonrpc: "2.0", id: 2, method: "ping" }, { "mcp-session-id": session })).status;
    };
    assert.deepEqual([await statusAfter(100, []), await statusAfter(100, ["--session-ttl", "90m"])], [200, 404]);
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((at) => at?.internal === false && at.family === "IPv4")?.address;

  test(
    "takes as many connections of one peer as --connections-per-peer says",
    { skip: outside === undefined && "no such address" },
    async () => {
      const args = ["--http", `${outside}:0`, "--tcp", `${outside}:0`, "--insecure", "--connections-per-peer", "2"];
      await using served = await serveChild(["examples/counter", ...args]);
      for (const url of [served.ready.http, served.ready.tcp]) {
        const { hostname, port } = new URL(String(url));
        const sockets = Array.from({ length: 4 }, () => connectSocket(Number(port), hostname));
        const ends = sockets.map(async (socket) => {
          socket.on("error", () => undefined).resume();
          await once(socket, "close");
        });
        let refused = 0;
        await new Promise<void>((resolve) => {
          for (const end of ends) void end.then(() => (refused += 1) === 2 && resolve());
        });
        assert.equal(sockets.filter((socket) => !socket.destroyed).length, 2);
        for (const socket of sockets) socket.destroy();
      }
    },
  );

  test("refuses two modules of which the names meet, before it listens", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
    const ran = await troupe("serve", "examples/door", "examples/mud", "--data", folder.path);
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr, /tools\/look is offered by the cast of door and by the cast of player.*prefix/);
  });

  test("says where a module cannot be loaded", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-load-"));
    try {
      for (const [name, text, sentence] of [
        ["lone.ts", "export const a = 1;\nlet let = ;\n", /lone\.ts cannot be loaded: .*\(\/.*lone\.ts:2\)\n$/],
        ["package.json", '{"type":"commonjs"}', undefined],
        [
          "esm.ts",
          'import "node:fs";\n',
          /esm\.ts cannot be loaded: .*: write "type": "module" in the nearest package\.json .* \(.*esm\.ts:1\)\n$/,
        ],
        ["package.json", '{"type":"module"}', undefined],
        ["common.cts", 'import "node:fs";\n', /outside a module: rename the file, since .* have no imports \(.*common\.cts:1\)\n$/],
        ["typo.ts", "export const a = 1;\nlet let = ;\n", /typo\.ts cannot be loaded: .*typo\.ts:2\)\n$/],
        ["throws.ts", "\n\nthrow new Error('no tea');\n", /throws\.ts cannot be loaded: no tea \(.*throws\.ts:3:7\)\n$/],
        ["object.ts", "throw Object.create(null);\n", /object\.ts cannot be loaded: an object\n$/],
        [
          "import.ts",
          'import "./absent.ts";\n',
          /import\.ts cannot be loaded: Cannot find module '.*absent\.ts' imported from .*import\.ts\n$/,
        ],
        [
          "package.ts",
          'import "troupe-of-nobody/parts";\n',
          /Cannot find package 'troupe-of-nobody' imported from .*: install it there \(npm install troupe-of-nobody\)\n$/,
        ],
        ["enum.ts", "export enum Tea { None }\n", /enum is not supported.*serve the JavaScript it compiles to \(.*enum\.ts:1\)\n$/],
        ["twice.js", "let a = 1;\nlet a = 2;\n", /twice\.js cannot be loaded: Identifier 'a' has already .* \(\/.*twice\.js:2\)\n$/],
        ["outer.ts", 'import "./twice.js";\n', /outer\.ts cannot be loaded: Identifier .* \(\/.*twice\.js:2\)\n$/],
        ["a (b) ü.ts", "export const a = ;\n", /cannot be loaded: .* \(\/.*\/a \(b\) ü\.ts:1\)\n$/],
        ["a (c) ü.ts", "\nthrow new Error('no tea');\n", /cannot be loaded: no tea \(\/.*\/a \(c\) ü\.ts:2:7\)\n$/],
        ["boom.cjs", "\nthrow new Error('no tea');\n", /cannot be loaded: no tea \(\/.*\/boom\.cjs:2:7\)\n$/],
        ["short.ts", 'import "./lone";\n', /Cannot find module .*: an import names the whole file, with \.ts\n$/],
        ["json.ts", 'import data from "./package.json";\ndata;\n', /: import it with \{ type: "json" \}\n$/],
        ["text.ts", 'throw "no tea";\n', /text\.ts cannot be loaded: no tea\n$/],
        ["never.ts", "await new Promise(() => {});\n", /never\.ts never finished loading: it awaits what nothing settles\.\n$/],
      ] as const) {
        writeFileSync(join(folder, name), text);
        if (sentence === undefined) continue;
        const ran = await troupe("serve", join(folder, name), "--http", "127.0.0.1:0");
        assert.equal(ran.code, 1);
        assert.match(ran.stderr, sentence);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("says that its own package has no module of that name, wherever it is looked for", async () => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-load-"));
    try {
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(root, join(folder, "node_modules", "troupe"));
      for (const name of ["typo", "cli", "core/engine"]) {
        writeFileSync(join(folder, "t.ts"), `import "troupe/${name}";\n`);
        const ran = await troupe("serve", join(folder, "t.ts"), "--stdio");
        assert.equal(ran.code, 1);
        assert.match(ran.stderr, /t\.ts: import one of the names its `exports` has\n$/);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("refuses to listen beyond loopback without tokens #secure.loopback #secure.tcp-open", async () => {
    const http = await troupe("serve", "examples/counter", "--http", "0.0.0.0:0", "--json");
    assert.equal(http.code, 2);
    assert.match(http.stderr, /UNSAFE_LISTENER/);
    const tcp = await troupe("serve", "examples/counter", "--tcp", "0.0.0.0:0", "--json");
    assert.match(tcp.stderr, /UNSAFE_LISTENER/);
  });

  test("ends when one of its doors cannot open, and closes the other", async () => {
    await using taken = await onLoopback(createServer());
    const ran = await troupe("serve", "examples/counter", "--http", "127.0.0.1:0", "--tcp", `127.0.0.1:${taken.port}`, "--json");
    assert.equal(ran.code, 1, ran.stderr);
    assert.match(ran.stderr, /BAD_ADDRESS.*choose another port/);
  });

  test("a start that cannot listen leaves no data directory behind", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
    await using taken = await onLoopback(createServer());
    const data = join(folder.path, "data");
    const at = `127.0.0.1:${taken.port}`;
    for (const [code, ...listeners] of [
      ["BAD_ADDRESS", "--http", at],
      ["BAD_ADDRESS", "--http", "127.0.0.1:0", "--tcp", at],
      ["UNSAFE_LISTENER", "--http", "0.0.0.0:0"],
    ] as const) {
      const ran = await troupe("serve", "examples/counter-disk", ...listeners, "--data", data, "--json");
      assert.match(ran.stderr, new RegExp(code));
      assert.equal(existsSync(data), false, listeners.join(" "));
    }
  });

  test("API keys let their holders in, and nobody else #secure.static-keys", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-cli-"));
    const keys = join(folder.path, "keys.json");
    // As the guide makes it.
    const [, script = ""] = /```sh\n(KEY=[^`]*> keys\.json)\n```/.exec(readFileSync(join(root, "docs/guide/serve.md"), "utf8")) ?? [];
    const made = `node() { "$0" "$@"; }; ${script}; printf %s "$KEY"`;
    const key = execFileSync("sh", ["-euc", made, process.execPath], { cwd: folder.path, encoding: "utf8" });
    await using served = await serveChild(["examples/counter", "--api-keys", keys]);
    const request = (headers: Readonly<Record<string, string>>): Promise<Response> =>
      fetch(String(served.ready.http), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/list",
          ...headers,
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/list",
          params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } },
        }),
      });
    const refused = await request({});
    assert.equal(refused.status, 401);
    assert.match(String(refused.headers.get("www-authenticate")), /^Bearer/);
    assert.equal((await request({ authorization: `Bearer ${key}` })).status, 200);
  });
});

describe("looking and acting from the command line", () => {
  test("actors, state and call work beside a running server and without one #store.socket #cli.actors #cli.output", async () => {
    const served = await serveChild(["examples/counter-disk"]);
    const beside = await troupe("call", "counter/main", "tools/add", '{"by":5}', "--start", "--data", served.data, "--json");
    assert.deepEqual(lines(beside.stdout), [{ ok: 5 }], beside.stderr);
    assert.match((await troupe("actors", "--data", served.data)).stdout, /counter\/main +1 +live/);
    const [state] = lines((await troupe("state", "counter/main", "--data", served.data, "--json")).stdout);
    assert.ok(typeof state === "object" && state !== null && "state" in state && "seq" in state);
    assert.deepEqual([state.seq, state.state], [1, { count: 5 }]);
    served.child.kill("SIGTERM");
    await served.ended;
    const without = await troupe("call", "counter/main", "tools/add", '{"by":1}', "--data", served.data);
    assert.equal(without.stdout, "6\n", without.stderr);
    rmSync(served.data, { recursive: true });
  });

  test("what is not there, what is refused and what is misspelled have codes of their own #cli.exit-codes", async () => {
    await using served = await serveChild(["examples/counter-disk"]);
    assert.equal((await troupe("state", "counter/none", "--data", served.data)).code, 4);
    assert.equal((await troupe("call", "counter/none", "tools/add", "{}", "--data", served.data)).code, 4);
    assert.equal((await troupe("call", "counter/main", "tools/add", '{"by":"x"}', "--start", "--data", served.data)).code, 3);
    assert.equal((await troupe("call", "counter/main", "tools/add", "{by:1}", "--data", served.data)).code, 2);
    assert.equal((await troupe("state", "counter", "--data", served.data)).code, 2);
    assert.equal((await troupe("actors", "--data", join(served.data, "none"))).code, 4);
    assert.equal((await troupe("letters", "drop", "nobody", "--data", served.data)).code, 4);
    assert.equal((await troupe("letters", "--data", served.data)).stdout, "No dead letters.\n");
  });
});
