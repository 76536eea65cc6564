import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type Answering, httpPackets, tcpPackets } from "../../src/bridges/packet/packet-server.fixture.ts";
import { root } from "../serve-child.ts";
import { lines, type Ran, troupe } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "troupe-packets-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const written = (name: string, text: string | Uint8Array): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const CAPABILITIES = [
  { id: "user_transform", intent: "Transform user data", requires: ["user_id", "operations"], provides: ["user"], actor_enabled: false },
  { id: "user_lookup", intent: "Find a user", requires: ["email"], provides: ["user_id"], actor_enabled: false },
  { id: "notes", intent: "Keep notes\u001b[2J", requires: [], provides: [], actor_enabled: true },
];

const answer: Answering = ({ packet, reply }) => {
  if (packet["type"] === "mcp_request") {
    const contents = [{ uri: "packetflow://capabilities", text: JSON.stringify({ capabilities: CAPABILITIES }) }];
    reply("capability_response", { mcp_message: { jsonrpc: "2.0", id: 1, result: { contents } } });
    return;
  }
  const error = Object(packet["payload"]).error;
  if (typeof error === "string") reply("capability_error", { error: { type: error, message: "It said no.", details: {} } });
  else {
    reply("capability_progress", { progress: 1, total: 2, message: "half" });
    reply("capability_response", { got: packet["payload"] ?? null });
  }
};

const request = (payload: object, id = "a"): object => ({
  type: "capability_request",
  id,
  capability_id: "x",
  payload,
  context: { trace_id: "t" },
});

describe("troupe packet send", () => {
  test("sends one packet and prints its reply", async () => {
    await using server = await httpPackets(answer);
    const file = written("one.json", JSON.stringify(request({ n: 1 }), null, 2));
    const people = await troupe("packet", "send", file, "--url", server.url, "--token", "secret");
    assert.equal(people.code, 0, people.stderr);
    assert.deepEqual(Object(JSON.parse(people.stdout)).payload, { got: { n: 1 } });
    assert.equal(people.stderr, "1 of 2: half\n");
    assert.equal(server.headers["authorization"], "Bearer secret");
    const machines = await troupe("packet", "send", file, "--url", server.url, "--json");
    assert.deepEqual(
      lines(machines.stdout).map((packet) => [Object(packet).type, Object(packet).id]),
      [
        ["capability_progress", "a"],
        ["capability_response", "a"],
      ],
    );
    assert.equal(machines.stderr, "");
  });

  test("sends many from standard input in their order, and ends as the first that failed", async () => {
    await using server = await tcpPackets(answer);
    const input = [
      request({ n: 1 }, "a"),
      request({ error: "actor_not_found" }, "b"),
      request({ error: "rate_limited" }, "c"),
      request({ n: 2 }, "d"),
    ];
    const ran = await new Promise<Ran>((settle) => {
      const child = execFile(
        process.execPath,
        [join(root, "bin/troupe.js"), "packet", "send", "-", "--url", server.url, "--json"],
        (error, stdout, stderr) => settle({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      );
      child.stdin?.end(`${input.map((packet) => JSON.stringify(packet)).join("\n")}\n\n`);
    });
    assert.equal(ran.code, 4, ran.stderr);
    assert.deepEqual(lines(ran.stderr), [{ error: { code: "actor_not_found", message: "It said no." } }]);
    const final = lines(ran.stdout).filter((packet) => Object(packet).type !== "capability_progress");
    assert.deepEqual(
      final.map((packet) => Object(packet).id),
      ["a", "b", "c", "d"],
    );
    assert.deepEqual(
      server.heard.map(({ id }) => id),
      ["a", "b", "c", "d"],
    );
  });

  test("has an exit code for each way to fail", async () => {
    await using server = await httpPackets(answer);
    for (const [type, code] of [
      ["unknown_type", 2],
      ["validation_failed", 3],
      ["unauthorized", 3],
      ["capability_not_found", 4],
      ["actor_crash", 1],
      ["execution_failed", 1],
    ] as const) {
      const ran = await troupe("packet", "send", written("error.json", JSON.stringify(request({ error: type }))), "--url", server.url);
      assert.equal(ran.code, code, type);
      assert.equal(ran.stderr, "troupe: It said no.\n");
    }
    const gone = await httpPackets(answer);
    await gone[Symbol.asyncDispose]();
    const away = await troupe("packet", "send", written("a.json", JSON.stringify(request({}))), "--url", gone.url, "--json");
    assert.equal(away.code, 6, away.stderr);
    assert.equal(Object(lines(away.stderr)[0]).error.code, "UNREACHABLE");
    assert.match(Object(lines(away.stderr)[0]).error.message, /Start the server first, or name its address with --url\.$/);
    assert.match(away.stderr, /not applied/);
    const busy = createServer((_, response) => void response.writeHead(503).end()).listen(0, "127.0.0.1");
    await once(busy, "listening");
    const port = String(Object(busy.address()).port);
    const later = await troupe(
      "packet",
      "send",
      written("a.json", JSON.stringify(request({}))),
      "--url",
      `http://127.0.0.1:${port}/packets`,
    );
    busy.close();
    assert.equal(later.code, 6, later.stderr);
    assert.match(later.stderr, /answered 503: try again later\. The packet was not applied: send it again\.\n$/);
  });

  test("sends nothing of a file that is none of packets, and says where in it", async () => {
    await using server = await httpPackets(answer);
    for (const [text, sentence] of [
      ["", /has no packet/],
      ["[1]", /is no packet/],
      [`${JSON.stringify(request({}))}\n{"type":\n`, /, line 2, is no packet/],
      ['{"type":"heartbeat","payload":{"n":9007199254740993}}', /\/payload\/n: 9007199254740993 is an integer that no double holds/],
      [`${JSON.stringify(request({}))}\n{"type":"heartbeat","id":"a","id":"b"}`, /, line 2, is no packet: An object names a member twice/],
      [Buffer.from('{"type":"heartbeat","payload":{"t":"caf\u00e9"}}', "latin1"), /is not UTF-8/],
    ] as const) {
      const ran = await troupe("packet", "send", written("odd.json", text), "--url", server.url);
      assert.equal(ran.code, 2, ran.stderr);
      assert.match(ran.stderr, sentence);
    }
    assert.equal((await troupe("packet", "send", join(folder, "none.json"), "--url", server.url)).code, 2);
    assert.equal((await troupe("packet", "send", written("a.json", "{}"), "--url", "nowhere")).code, 2);
    assert.equal(server.heard.length, 0);
    const second = `${JSON.stringify(request({}))}\n${JSON.stringify({ type: "shout" })}\n${JSON.stringify(request({}))}`;
    const cut = await troupe("packet", "send", written("cut.json", second), "--url", server.url);
    assert.equal(cut.code, 2);
    assert.match(cut.stderr, /Packet 2 of 3: .*Those after it were not sent/);
    assert.equal(server.heard.length, 1);
  });
});

describe("troupe capabilities", () => {
  const found = async (...args: readonly string[]): Promise<readonly unknown[]> => {
    await using server = await httpPackets(answer);
    const ran = await troupe("capabilities", ...args, "--url", server.url, "--json");
    assert.equal(ran.code, 0, ran.stderr);
    return lines(ran.stdout).map((one) => Object(one).id);
  };

  test("lists what a server can be asked for, all or what is like that #packet.commands", async () => {
    assert.deepEqual(await found(), ["user_transform", "user_lookup", "notes"]);
    assert.deepEqual(await found("--gives", "user_id"), ["user_lookup"]);
    assert.deepEqual(await found("--needs", "user_id", "--needs", "operations"), ["user_transform"]);
    assert.deepEqual(await found("--needs", "user_id", "--gives", "user_id"), []);
    assert.deepEqual(await found("TRANSFORM", "notes"), ["user_transform", "notes"]);
  });

  test("shows people a table, in which nothing a server says moves the cursor", async () => {
    await using server = await httpPackets(answer);
    const ran = await troupe("capabilities", "--url", server.url);
    assert.equal(ran.code, 0, ran.stderr);
    const [head, first, , notes] = ran.stdout.split("\n");
    assert.equal(head, "capability      needs                gives    actors  intent");
    assert.equal(first, "user_transform  user_id, operations  user             Transform user data");
    assert.equal(notes, "notes                                         yes     Keep notes\\u001b[2J");
    const none = await troupe("capabilities", "--needs", "gold", "--url", server.url);
    assert.equal(none.stdout, "No capability is like that.\n");
  });

  test("fails where the server does not say", async () => {
    for (const payload of [
      { mcp_message: { jsonrpc: "2.0", id: 1, error: { code: 1, message: "Resource not found" } } },
      { mcp_message: { jsonrpc: "2.0", id: 1, result: { contents: [{ text: "{" }] } } },
      { mcp_message: { result: { contents: [{ text: JSON.stringify({ capabilities: [{ id: "no name", intent: "x" }] }) }] } } },
      {},
    ]) {
      await using server = await httpPackets(({ reply }) => reply("capability_response", payload));
      const ran = await troupe("capabilities", "--url", server.url);
      assert.equal(ran.code, 1, ran.stderr);
      assert.match(ran.stderr, /did not say clearly what it can be asked for/);
    }
  });
});
