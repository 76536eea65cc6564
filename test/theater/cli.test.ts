// Theater's doors on the command line: processes of their own, as operators start them.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { until } from "../../src/testing/index.ts";
import { WireClient } from "../../src/bridges/theater/server/wire-client.fixture.ts";
import { running, troupe } from "../cli/run.ts";
import { connect, INFO } from "../clients.ts";
import { installJudges } from "../foreign/install.ts";
import { root } from "../serve-child.ts";
import { at, lineClient, opened, resumed, send } from "../wire.ts";
import { base64, bytes, clientOf, folder, freePort, started, textOf, theater } from "./process.ts";

const never = new AbortController().signal;
const COUNTER = "counter/counter.toml";

describe("troupe theater", { concurrency: 3 }, () => {
  test("says in one line where it is; a guest that was started is there after a restart, with its id and its state", async () => {
    using place = folder();
    let id: string;
    {
      await using server = await theater(place.data);
      assert.match(server.address("theaterTcp"), /^tcp:\/\/127\.0\.0\.1:\d+$/);
      assert.equal(server.address("http"), "undefined");
      await using client = clientOf(server);
      ({ id } = await client.start({ manifest: COUNTER, initialState: bytes('{"count":40}') }));
      await client.send(id, bytes("2"));
      assert.equal(textOf(await client.request(id, bytes(""), never)), "42");
      server.child.kill("SIGTERM");
      assert.equal(await server.ended, 0);
    }
    await using server = await theater(place.data);
    await using client = clientOf(server);
    assert.deepEqual(await client.list(10), [{ id, name: "counter", status: "RUNNING" }]);
    assert.equal(textOf(await client.state(id)), '{"count":42}');
    await client.send(id, bytes("add"));
    assert.equal(textOf(await client.request(id, bytes(""), never)), "43");
  });

  test("where what guests keep has gone, the log says so at the start", async () => {
    using place = folder();
    {
      await using server = await theater(place.data);
      await using client = clientOf(server);
      await client.start({ manifest: COUNTER });
      assert.doesNotMatch(server.err(), /contents-missing/);
      server.child.kill("SIGTERM");
      assert.equal(await server.ended, 0);
    }
    rmSync(join(place.data, "content.db"));
    await using server = await theater(place.data);
    const line = server
      .err()
      .split("\n")
      .find((one) => one.includes("contents-missing"));
    const said: unknown = JSON.parse(line ?? "null");
    assert.equal(at(said, "level"), "error");
    assert.equal(at(said, "guests"), 1);
    assert.equal(at(said, "path"), join(place.data, "content.db"));
  });

  test("an export says what it leaves out of guests, and with that copied as the guide does it they go on in the other place", async () => {
    using place = folder();
    const [mine, copy, bare] = [place.data, join(place.path, "copy"), join(place.path, "bare")] as const;
    const file = join(place.path, "all.jsonl");
    const beside = ["content.db", "guests"];
    const guide = readFileSync(join(root, "docs/guide/backup.md"), "utf8");
    const [, script = ""] = /```sh\n(.*content\.db[^`]*)```/s.exec(guide.slice(guide.indexOf("**What [guests]"))) ?? [];
    const told = async (...args: readonly string[]): Promise<unknown> => {
      const ran = await troupe(...args, "--json");
      assert.equal(ran.code, 0, ran.stderr);
      return at(JSON.parse(ran.stdout), "beside");
    };
    let id: string;
    {
      await using server = await theater(mine);
      await using client = clientOf(server);
      assert.equal(await told("export", file, "--data", mine), undefined);
      ({ id } = await client.start({ manifest: COUNTER, initialState: bytes('{"count":40}') }));
      await client.send(id, bytes("2"));
      assert.equal(textOf(await client.request(id, bytes(""), never)), "42");
      assert.deepEqual(await told("export", file, "--data", mine), beside);
      assert.equal(await told("export", file, "--data", mine, "--kind", "counter"), undefined);
      assert.match((await troupe("export", file, "--data", mine)).stdout, /^Exported 1 actor, .*: copy content\.db and guests too/);
      const placed = script.replaceAll("data/mine", mine).replaceAll("data/copy", copy);
      execFileSync("sh", ["-euc", `node() { "$0" "$@"; }; ${placed}`, process.execPath], { cwd: root });
    }
    assert.deepEqual(await told("import", file, "--data", bare), beside);
    assert.equal(await told("import", file, "--data", copy), undefined);
    await using server = await theater(copy);
    await using client = clientOf(server);
    await client.send(id, bytes("add"));
    assert.equal(textOf(await client.request(id, bytes(""), never)), "43");
    assert.equal(statSync(join(copy, "content.db")).mode & 0o077, 0);
  });

  test("C1 killed in the middle of sends, it has lost nothing that was acknowledged, and applied nothing twice", async () => {
    using place = folder();
    let [tried, acknowledged] = [0, 0];
    let id: string;
    {
      await using server = await theater(place.data);
      await using client = clientOf(server);
      ({ id } = await client.start({ manifest: COUNTER }));
      const sending = Array.from({ length: 4 }, async () => {
        for (;;) {
          tried += 1;
          await client.send(id, bytes("add"));
          acknowledged += 1;
        }
      });
      await until("some are acknowledged", () => acknowledged >= 40);
      server.child.kill("SIGKILL");
      for (const one of await Promise.allSettled(sending)) assert.match(String(one.status === "rejected" && one.reason), /StageError/);
      await server.ended;
    }
    {
      await using server = await theater(place.data);
      await using client = clientOf(server);
      const count = async (): Promise<number> => Number(textOf(await client.request(id, bytes(""), never)));
      await until("all that was acknowledged is counted", async () => (await count()) >= acknowledged);
      assert.ok((await count()) <= tried, `${await count()} of ${tried}`);
    }
    const verified = await troupe("verify", "--data", place.data);
    assert.equal(verified.code, 0, verified.stderr);
  });

  test("at a Unix socket its owner alone gets in, and the socket goes with the server", async () => {
    using place = folder();
    const path = join(place.path, "theater.sock");
    await using server = await theater(place.data, "--address", path);
    assert.equal(server.address("theaterTcp"), `unix:${path}`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    using client = new WireClient(server.address("theaterTcp"), "raw");
    const manifest = COUNTER;
    const began = await client.request({ StartActor: { manifest, initial_state: null, parent: false, subscribe: false } });
    assert.deepEqual(await client.request("ListActors"), { ActorList: { actors: [at(began, "ActorStarted", "id")] } });
    server.child.kill("SIGTERM");
    assert.equal(await server.ended, 0);
    assert.equal(existsSync(path), false);
  });

  test("beyond this machine it is refused unless that is said to be known, and then the log warns", async () => {
    using place = folder();
    const address = ["--address", "0.0.0.0:0", "--data", place.data, "--json"];
    const refused = await troupe("theater", ...address);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /"code":"UNSAFE_LISTENER".*no authentication.*127\.0\.0\.1 or at a Unix socket.*--insecure-no-auth/);
    await using server = running("theater", ...address, "--insecure-no-auth");
    await server.said(/"ready":true/);
    assert.match(server.err(), /"level":"warn","event":"open-listener","transport":"theater"/);
  });

  test("what stands nowhere or for nothing is refused with what to do", async () => {
    using place = folder();
    for (const [args, says] of [
      [["theater", "--manifests", join(place.path, "none")], /there is no folder/],
      [["theater", "--address", "nowhere"], /--address takes \[host:\]port/],
      [["serve", "examples/counter", "--manifests", "examples/wasm"], /give --theater or --theater-tcp/],
      [["serve", "examples/counter", "--theater", "--stdio"], /--theater is for operators/],
      [["serve", "examples/counter", "--theater", "--no-auth", "--stdio"], /name --http too/],
      [["serve", "examples/counter", "--theater", "--no-auth", "--insecure", "--http", "0.0.0.0:0"], /does not go with --insecure/],
      [["theater-mcp", "--codec", "morse"], /auto, raw, fragmenting/],
    ] as const) {
      const ran = await troupe(...args, ...(args[0] === "theater-mcp" ? [] : ["--data", place.data]));
      assert.deepEqual([ran.code, ran.stdout], [2, ""], ran.stderr);
      assert.match(ran.stderr, says);
    }
  });

  test("serves actors of modules beside guests: started by kind, and spoken to in JSON", async () => {
    using place = folder();
    await using server = await theater(place.data, "examples/counter-disk");
    await using client = clientOf(server);
    const { id, name } = await client.start({ manifest: "kind:counter" });
    assert.match(name, /^counter\//);
    assert.equal(textOf(await client.request(id, bytes('{"action":"tools/add","args":{"by":2}}'), never)), "2");
    await assert.rejects(client.request(id, bytes("add"), never), { code: "InvalidRequest", message: /JSON text/ });
    assert.equal(textOf(await client.state(id)), '{"count":2}');
    const guest = await client.start({ manifest: COUNTER });
    assert.deepEqual((await client.list(10)).map((actor) => actor.id).toSorted(), [id, guest.id].toSorted());
  });
});

const LAMP = (word: string): string => `
import { actor } from "troupe";
export const lamp = actor("lamp", {
  description: "A lamp.", persistence: "disk", initial: () => ({ lit: 0 }),
  tools: { light: { description: "Light it.", run({ state }) { state.lit += 1; return "${word} " + state.lit; } } },
});
`;

test("troupe dev with Theater: modules are loaded anew, and guests, actors and the port stay", async () => {
  using place = folder();
  const module = join(place.path, "lamp.ts");
  writeFileSync(module, LAMP("lit"));
  await using server = await started("dev", module, "--theater-tcp", "127.0.0.1:0", "--manifests", "examples/wasm", "--data", place.data);
  await using client = clientOf(server);
  const guest = await client.start({ manifest: COUNTER });
  const lamp = await client.start({ manifest: "kind:lamp" });
  const light = async (): Promise<string | undefined> => textOf(await client.request(lamp.id, bytes('{"action":"tools/light"}'), never));
  await client.send(guest.id, bytes("add"));
  assert.equal(await light(), '"lit 1"');
  writeFileSync(module, LAMP("shines"));
  await server.said(/"event":"reloaded"/);
  assert.equal(await light(), '"shines 2"');
  await client.send(guest.id, bytes("add"));
  assert.equal(textOf(await client.request(guest.id, bytes(""), never)), "2");
});

const callIn =
  (client: Client) =>
  async (
    name: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<{ readonly failed: boolean; readonly text: string; readonly is: unknown }> => {
    const result = await client.callTool({ name, arguments: { ...args } });
    return { failed: result.isError === true, text: String(at(result, "content", 0, "text")), is: result.structuredContent };
  };

describe("troupe theater-mcp", { concurrency: 3 }, () => {
  test("over stdio: the server that is not there yet is an error with a sentence, and once it is there everything works", async () => {
    using place = folder();
    const port = await freePort();
    const client = new Client(INFO);
    const args = [join(root, "bin/troupe.js"), "theater-mcp", "--theater", `127.0.0.1:${port}`];
    const transport = new StdioClientTransport({ command: process.execPath, args, cwd: place.path, stderr: "ignore" });
    await client.connect(transport);
    try {
      const call = callIn(client);
      assert.deepEqual(client.getServerVersion(), { name: "theater-mcp", version: "0.1.0" });
      const absent = await call("list_actors");
      assert.equal(absent.failed, true);
      assert.match(absent.text, new RegExp(`^CommunicationError: .*127\\.0\\.0\\.1:${port}.*try again`, "i"));
      await using server = await theater(place.data, "--address", `127.0.0.1:${port}`);
      const { is } = await call("start_actor", { manifest: COUNTER });
      const actor_id = at(is, "actor_id");
      assert.equal((await call("send_message", { actor_id, data: base64("add") })).failed, false);
      assert.equal(at((await call("request_message", { actor_id, data: "" })).is, "response_text"), "1");
      // As long as its bounds let it be, which is more than a line of other servers.
      const longest = Buffer.alloc(4 * 1_048_576, "x").toString("base64");
      assert.equal((await call("send_message", { actor_id, data: longest })).failed, false);
      assert.match((await call("send_message", { actor_id, data: `${longest}AAAA` })).text, /longer than 4194304 bytes/);
      assert.equal(server.child.exitCode, null);
    } finally {
      await client.close();
    }
  });

  test("over HTTP and TCP, to the official client and to one of 2024-11-05", async () => {
    using place = folder();
    await using server = await theater(place.data);
    const doors = ["--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
    await using proxy = await started("theater-mcp", "--theater", new URL(server.address("theaterTcp")).host, ...doors);
    const http = proxy.address("http");
    const client = new Client(INFO);
    await client.connect(new StreamableHTTPClientTransport(new URL(http)));
    const call = callIn(client);
    const actor_id = at((await call("start_actor", { manifest: COUNTER, initial_state: { count: 6 } })).is, "actor_id");
    assert.equal(at((await call("request_message", { actor_id, data: "" })).is, "response_text"), "6");
    await client.close();

    const old = await opened(http, {}, "2024-11-05");
    const read = await old.request("resources/read", { uri: `theater://actor/${String(actor_id)}/state` });
    assert.equal(at(JSON.parse(String(at(read.reply, "result", "contents", 0, "text"))), "count"), 6);
    await using line = await lineClient(proxy.address("tcp"));
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: INFO };
    assert.equal(at(await line.request("initialize", params), "result", "protocolVersion"), "2024-11-05");
    proxy.child.kill("SIGTERM");
    assert.equal(await proxy.ended, 0);
  });
});

const keyOf = (key: string): string => createHash("sha256").update(key).digest("hex");
const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });

describe("troupe serve --theater", { concurrency: 3 }, () => {
  test("at /theater an operator has Theater's tools and nobody else has any; /mcp goes on as before, each with sessions of its own", async () => {
    using place = folder();
    const keys = join(place.path, "keys.json");
    writeFileSync(keys, JSON.stringify({ ann: keyOf("ann-s-key"), op: { sha256: keyOf("op-s-key"), scopes: ["troupe:operate"] } }));
    const manifests = ["--manifests", "examples/wasm"];
    await using server = await started(
      "serve",
      "examples/counter",
      "--http",
      "127.0.0.1:0",
      "--data",
      place.data,
      "--theater",
      ...manifests,
      "--api-keys",
      keys,
    );
    const [mcp, faced] = [server.address("http"), server.address("theater")];
    assert.equal(faced, mcp.replace(/\/mcp$/, "/theater"));
    const hello = {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO },
    };
    assert.equal((await send(faced, hello)).status, 401);
    const denied = await send(faced, hello, bearer("ann-s-key"));
    assert.equal(denied.status, 403);
    assert.match(JSON.stringify(denied.reply), /troupe:operate/);

    await using operator = await connect({ http: faced }, { sdk: "v1", era: "legacy" }, { headers: bearer("op-s-key") });
    const began = await operator.call("start_actor", { manifest: COUNTER, name: "mine" });
    assert.equal(began.isError, false, began.text);
    assert.equal(at((await operator.call("request_message", { actor_id: "mine", data: "" })).structured, "response_text"), "0");
    const component = Buffer.alloc(8 * 1_048_576, "x").toString("base64");
    const inline = 'name = "x"\ncomponent = "x.wasm"\n';
    assert.match((await operator.call("start_actor", { manifest: inline, component })).text, /^InvalidRequest: .*component/i);
    const more = await operator.call("start_actor", { manifest: inline, component: `${component}AAAA` });
    assert.match(more.text, /longer than 8388608 bytes/);
    for (const key of ["ann-s-key", "op-s-key"]) {
      await using player = await connect({ http: mcp }, { sdk: "v1", era: "legacy" }, { headers: bearer(key) });
      assert.deepEqual(
        (await player.tools()).map(({ name }) => name),
        ["add", "get"],
      );
      assert.equal((await player.call("add", { by: 0 })).text, "0");
    }

    const [here, there] = [await opened(faced, bearer("op-s-key")), await opened(mcp, bearer("op-s-key"))];
    assert.equal((await here.request("tools/list")).status, 200);
    assert.equal((await there.request("tools/list")).status, 200);
    assert.equal((await resumed(mcp, here.id, bearer("op-s-key")).request("tools/list")).status, 404);
    assert.equal((await resumed(faced, there.id, bearer("op-s-key")).request("tools/list")).status, 404);
  });

  test("whoever was in the room has left it after a restart, however the process ended", { timeout: 60_000 }, async () => {
    using place = folder();
    for (const signal of ["SIGTERM", "SIGKILL", "SIGTERM"] as const) {
      await using server = await theater(place.data, "--theater", "--no-auth", "--http", "127.0.0.1:0");
      await using guest = await connect({ http: server.address("theater") }, { sdk: "v1", era: "legacy" });
      const began = await guest.call("start_actor", { manifest: "chat-room/chat-room.toml", name: "room" });
      assert.match(began.text, /"RUNNING"|^ActorAlreadyExists/);
      const entered = await guest.call("open_channel", { actor_id: "room", initial_message: base64("ann") });
      assert.equal(entered.isError, false, entered.text);
      server.child.kill(signal);
      await server.ended;
    }
  });

  test("without tokens it is refused, and with --no-auth taken on loopback, where the Inspector reads and calls", async () => {
    const refused = await troupe("serve", "examples/counter", "--theater", "--http", "127.0.0.1:0", "--json");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /"code":"USAGE".*for operators.*--api-keys or --jwks.*troupe:operate.*--no-auth/);
    using place = folder();
    const server = await started("serve", "examples/counter", "--http", "127.0.0.1:0", "--data", place.data, "--theater", "--no-auth");
    await using _closing = server;
    const inspect = async (...more: readonly string[]): Promise<unknown> => {
      const launcher = join(installJudges(), "@modelcontextprotocol/inspector/clients/launcher/build/index.js");
      const args = [launcher, "--cli", "--transport", "http", "--server-url", server.address("theater"), ...more];
      const env = { ...process.env, HOME: place.path };
      const printed = await new Promise<string>((settle) => {
        execFile(process.execPath, args, { cwd: place.path, timeout: 60_000, env }, (_error, stdout, stderr) => settle(stdout || stderr));
      });
      return JSON.parse(printed);
    };
    const began = await inspect("--method", "tools/call", "--tool-name", "start_actor", "--tool-arg", "manifest=kind:counter");
    const id = at(began, "structuredContent", "actor_id");
    const read = await inspect("--method", "resources/read", "--uri", "theater://actors");
    assert.equal(at(JSON.parse(String(at(read, "contents", 0, "text"))), "actors", 0, "id"), id);
  });
});
