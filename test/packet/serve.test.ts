// `troupe serve` with packets, as a user starts it: who gets in, by which door, and that MCP is the same behind it.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { packetClient } from "../../src/bridges/packet/index.ts";
import { until } from "../../src/testing/index.ts";
import { lines, running, troupe } from "../cli/run.ts";
import { CLIENTS, connect } from "../clients.ts";
import { root, serveChild, type Served } from "../serve-child.ts";
import { at, lineClient } from "../wire.ts";
import { bearer, keyOf, writeKeys } from "./api-keys.ts";

const assistant = join(root, "examples/research-assistant");
const folder = mkdtempSync(join(tmpdir(), "troupe-serve-packets-"));
const keys = writeKeys(join(folder, "keys.json"), { ada: [], bob: [], cleo: [], eve: [], portal: ["packets:act-as"] });
const ID = "research_assistant";
let served: Served;
let packets: string;

before(async () => {
  served = await serveChild([assistant, "--packets", "127.0.0.1:0", "--api-keys", keys, "--rate", "0"]);
  packets = String(served.ready.packets);
});

after(async () => {
  await served[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const note = (text: string, more: object = {}): object => ({
  version: "1.0",
  type: "actor_message",
  capability_id: ID,
  payload: { message_type: "note", text },
  ...more,
});

const post = async (url: string, body: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });

const one = async (packet: object, who: string | undefined, url = packets): Promise<unknown> =>
  (await post(url, JSON.stringify(packet), who === undefined ? {} : bearer(who))).json();

const errorType = (reply: unknown): unknown => at(reply, "payload", "error", "type");

const ends = (...args: readonly string[]) => troupe("serve", assistant, "--data", join(folder, "refused"), ...args);

describe("troupe serve --packets", () => {
  test("does not start while it would not know whose packets come, and says what to do #packet.security.authentication", async () => {
    const ran = await ends("--http", "127.0.0.1:0", "--packets");
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /--api-keys or --jwks, or say --no-auth/);
    assert.equal(ran.stdout, "");
  });

  test("does not start without a door that packets could come by", async () => {
    const ran = await ends("--stdio", "--packets", "--no-auth");
    assert.equal(ran.code, 2);
    assert.match(ran.stderr, /name --http too, or an address of its own/);
  });

  test("takes guests at loopback alone, and never beside keys #packet.security.authentication", async () => {
    for (const [args, sentence] of [
      [["--http", "0.0.0.0:0", "--packets"], /would be open to everybody/],
      [["--http", "127.0.0.1:0", "--packets", "0.0.0.0:0"], /would be open to everybody/],
      [["--http", "0.0.0.0:0", "--packets", "--insecure"], /does not go with --insecure/],
      [["--http", "127.0.0.1:0", "--packets", "--api-keys", keys], /does not go with --api-keys/],
    ] as const) {
      const ran = await ends("--no-auth", ...args);
      assert.notEqual(ran.code, 0);
      assert.match(ran.stderr, sentence);
    }
  });

  test("says that it takes guests, each confined to what is a guest's #packet.doors.guests", async () => {
    await using guests = running(
      "serve",
      assistant,
      "--packets",
      "--no-auth",
      "--http",
      "127.0.0.1:0",
      "--data",
      join(folder, "guests"),
      "--json",
    );
    await guests.said(/"ready":true/);
    assert.match(guests.err(), /"event":"packets","callers":"guests"/);
    const url = String(at(lines(guests.out())[0], "packets"));
    const reply = await one(note("mine", { context: { user_id: "ada" } }), undefined, url);
    assert.equal(at(reply, "actor_id"), `${ID}:guest|ada`);
    const other = await one(
      note("not mine", { actor_id: `${ID}:guest|ada`, context: { user_id: "bob" }, actor_options: { create_if_missing: false } }),
      undefined,
      url,
    );
    assert.equal(errorType(other), "actor_not_found");
    assert.equal(errorType(await one(note("nobody's"), undefined, url)), "validation_failed");
  });

  test("knows its callers by their keys: user_id is the principal, or of one who may act as others #packet.security.authentication #packet.doors.act-as", async () => {
    assert.equal((await post(packets, JSON.stringify(note("x")), {})).status, 401);
    assert.equal((await post(packets, JSON.stringify(note("x")), { authorization: "Bearer wrong" })).status, 401);
    const own = await one(note("mine", { context: { user_id: "ada", trace_id: "t1" }, intent: "Note", id: "7" }), "ada");
    assert.deepEqual(at(own, "context"), { user_id: "ada", trace_id: "t1" });
    assert.deepEqual(
      ["type", "id", "intent", "capability_id", "actor_id", "payload"].map((name) => at(own, name)),
      ["capability_response", "7", "Note", ID, `${ID}:ada`, { noted: 1 }],
    );
    assert.equal(at(own, "metadata", "message_count"), 1);
    const wrong = await one(note("hers", { context: { user_id: "bob" } }), "ada");
    assert.equal(errorType(wrong), "unauthorized");
    const acting = await one(note("for her", { context: { user_id: "ada" } }), "portal");
    assert.deepEqual([at(acting, "actor_id"), at(acting, "payload")], [`${ID}:ada`, { noted: 2 }]);
  });

  test("takes one packet or many over HTTP, each answered #packet.doors.http #packet.doors.schema", async () => {
    const many = [note("first", { id: "a" }), note("second", { id: "b" }), { version: "1.0", type: "heartbeat", id: "c" }, { id: "d" }];
    const response = await post(packets, many.map((packet) => JSON.stringify(packet)).join("\n"), {
      ...bearer("bob"),
      "content-type": "application/x-ndjson",
    });
    assert.equal(response.status, 200);
    const replies = lines(await response.text());
    const kinds = Object.fromEntries(replies.map((reply) => [String(at(reply, "id")), at(reply, "type")]));
    assert.deepEqual(kinds, { a: "capability_response", b: "capability_response", c: "heartbeat", d: "capability_error" });
    const counts = replies.map((reply) => at(reply, "payload", "noted")).filter((count) => count !== undefined);
    assert.deepEqual(new Set(counts), new Set([1, 2]));
    const schema: unknown = await (await fetch(packets, { headers: bearer("bob") })).json();
    assert.match(String(at(schema, "$schema")), /json-schema/);
  });

  test("refuses whoever asks too often, and says when to come again #packet.security.rate #packet.implied.2-rate", async () => {
    await using other = await serveChild([assistant, "--packets", "--api-keys", keys, "--rate", "1"]);
    const url = String(other.ready.packets);
    const beat = JSON.stringify({ version: "1.0", type: "heartbeat" });
    const responses: Response[] = [];
    for (let n = 0; n < 20; n += 1) responses.push(await post(url, beat, bearer("ada")));
    const late = responses.find(({ status }) => status === 429);
    assert.ok(late !== undefined, "of twenty at once");
    const reply: unknown = await late.json();
    assert.equal(errorType(reply), "rate_limited");
    assert.deepEqual(
      ["limit", "used", "reset"].map((name) => at(reply, "payload", "error", "details", name)),
      [2, 2, 1],
    );
    assert.ok(Number(late.headers.get("retry-after")) >= 1);
    assert.equal(at(reply, "metadata", "retry_after"), Number(late.headers.get("retry-after")));
    assert.equal((await post(url, beat, bearer("bob"))).status, 200, "another has his own");
  });

  test("takes packets over WebSocket and TCP: the same actor behind all doors #packet.life.request #packet.doors.sockets", async () => {
    using webSocket = packetClient(packets.replace("http:", "ws:"), { token: keyOf("cleo") });
    using tcp = packetClient(String(served.ready.packetsTcp), { token: keyOf("cleo") });
    using http = packetClient(packets, { token: keyOf("cleo") });
    for (const [n, client] of [webSocket, tcp, http].entries()) {
      await client.heartbeat();
      assert.deepEqual(await client.request(ID, { message_type: "note", text: `Note ${n}` }), { noted: n + 1 });
    }
    await using raw = await lineClient(String(served.ready.packetsTcp));
    raw.say(note("without a token", { id: "x" }));
    assert.equal(errorType(await raw.until((frame) => at(frame, "type") === "capability_error")), "unauthorized");
  });

  test("answers `troupe packet send` and `troupe capabilities` #packet.implied.7-discovery #packet.implied.7-listing #packet.commands", async () => {
    const file = join(folder, "packets.ndjson");
    const ask = { version: "1.0", type: "actor_message", capability_id: ID, actor_id: "sent" };
    writeFileSync(
      file,
      [
        note("Onboarding keeps users", { actor_id: "sent" }),
        { ...ask, payload: { message_type: "conversation", message: "What keeps users?" } },
      ]
        .map((packet) => JSON.stringify(packet))
        .join("\n"),
    );
    const sent = await troupe("packet", "send", file, "--url", packets, "--token", keyOf("eve"), "--json");
    assert.equal(sent.code, 0, sent.stderr);
    const [noted, answered] = lines(sent.stdout);
    assert.deepEqual(at(noted, "payload"), { noted: 1 });
    assert.match(String(at(answered, "payload", "answer")), /Onboarding keeps users/);
    const listed = async (...args: readonly string[]): Promise<unknown> => {
      const ran = await troupe("capabilities", ...args, "--url", packets, "--token", keyOf("eve"), "--json");
      assert.equal(ran.code, 0, ran.stderr);
      return lines(ran.stdout).map((row) => [at(row, "id"), at(row, "actor_enabled"), at(row, "mcp_enabled")]);
    };
    const [acts, searches] = [
      [ID, true, true],
      [`${ID}_search`, false, true],
    ];
    assert.deepEqual(await listed(), [acts, searches]);
    assert.deepEqual(await listed("--gives", "hits"), [searches]);
    assert.deepEqual(await listed("--needs", "message_type"), [acts]);
    assert.equal((await troupe("capabilities", "--url", packets)).code, 3);
  });
});

describe("troupe serve --packets --packet-config", () => {
  test("is named, bounded and shown as the configuration says #packet.config.max-actors #packet.config.server #packet.config.expose #packet.phase.2-configuration #packet.implied.11-expose", async () => {
    const config = join(folder, "config.yaml");
    writeFileSync(
      config,
      `actors: { max_actors_per_user: 1 }\nmcp: { server_name: Library, server_version: "2.0.0", expose_capabilities: [${ID}_search] }\n`,
    );
    await using other = await serveChild([assistant, "--packets", "--api-keys", keys, "--rate", "0", "--packet-config", config]);
    const url = String(other.ready.packets);
    await one(note("first"), "ada", url);
    const second = await one(note("second", { actor_id: "second" }), "ada", url);
    assert.equal(errorType(second), "actor_limit_exceeded");
    assert.deepEqual(
      ["limit", "used"].map((name) => at(second, "payload", "error", "details", name)),
      [1, 1],
    );
    assert.equal(at(await one(note("his"), "bob", url), "type"), "capability_response");
    const rpc = (method: string, params: object): Promise<unknown> =>
      one({ version: "1.0", type: "mcp_request", payload: { mcp_message: { jsonrpc: "2.0", id: 1, method, params } } }, "ada", url);
    const begun = await rpc("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    assert.deepEqual(at(begun, "payload", "mcp_message", "result", "serverInfo"), { name: "Library", version: "2.0.0" });
    const listed = await rpc("tools/list", {});
    assert.equal(at(listed, "payload", "mcp_message", "result", "tools", 0, "name"), `${ID}_search`);
    assert.equal(at(listed, "payload", "mcp_message", "result", "tools", 1), undefined);
    const hidden = await rpc("tools/call", { name: ID, arguments: { message_type: "recall" } });
    const absent = await rpc("tools/call", { name: "absent", arguments: {} });
    const said = (reply: unknown): string => JSON.stringify(at(reply, "payload", "mcp_message", "error"));
    assert.equal(said(hidden).replace(ID, "absent"), said(absent));
  });

  test("gives a reply the time that tool_timeout says", async () => {
    const config = join(folder, "quick.yaml");
    writeFileSync(config, "mcp: { tool_timeout: 100 }\n");
    await using other = await serveChild([slow, "--packets", "--api-keys", keys, "--rate", "0", "--packet-config", config]);
    const late = await one(
      { version: "1.0", type: "actor_message", capability_id: "slow", payload: { ms: 50_000 } },
      "ada",
      String(other.ready.packets),
    );
    assert.equal(errorType(late), "actor_timeout");
    assert.equal(at(late, "payload", "error", "details", "timeout_ms"), 100);
  });
});

const slow = join(import.meta.dirname, "slow.fixture.ts");

describe("packets under way when troupe serve ends", () => {
  const take = (ms: number): string =>
    JSON.stringify({ version: "1.0", type: "actor_message", capability_id: "slow", id: "s", payload: { ms } });

  /** Asks for that much, ends the server once it has begun, and returns what was answered and how the server ended. */
  const during = async (ms: number, grace: string, data: string): Promise<{ replies: readonly unknown[]; ended: unknown }> => {
    await using other = await serveChild([slow, "--packets", "--api-keys", keys, "--grace", grace], { data });
    const response = await post(String(other.ready.packets), take(ms), { ...bearer("ada"), "content-type": "application/x-ndjson" });
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (text === "") other.child.kill("SIGTERM");
      text += chunk;
    }
    return { replies: lines(text), ended: await other.ended };
  };
  const done = async (data: string): Promise<unknown> => {
    await using again = await serveChild([slow, "--packets", "--api-keys", keys], { data });
    return at(await (await post(String(again.ready.packets), take(0), bearer("ada"))).json(), "payload");
  };

  test("have the grace to end: they are answered, and what they did is kept #packet.end.shutdown #packet.supervisor.shutdown #packet.implied.6-survives", async () => {
    const data = join(folder, "graceful");
    const { replies, ended } = await during(300, "20000", data);
    assert.deepEqual(
      replies.map((reply) => [at(reply, "type"), at(reply, "id")]),
      [
        ["capability_progress", "s"],
        ["capability_response", "s"],
      ],
    );
    assert.equal(ended, 0);
    assert.deepEqual(await done(data), { done: 1 });
  });

  test("are called off once it is over, and have done nothing #packet.end.shutdown #packet.supervisor.shutdown", async () => {
    const data = join(folder, "short");
    const { replies, ended } = await during(600_000, "50", data);
    assert.ok(!replies.some((reply) => at(reply, "type") === "capability_response"));
    assert.equal(ended, 0);
    assert.deepEqual(await done(data), { done: 0 });
  });
});

describe("troupe dev --packets", () => {
  test("goes on with who is connected, on the new module, when one has changed #packet.doors.reload", async () => {
    const modules = join(folder, "modules");
    mkdirSync(modules);
    const write = (word: string): void =>
      writeFileSync(
        join(modules, "index.ts"),
        `import { capability } from ${JSON.stringify(join(root, "src/bridges/packet/index.ts"))};
export const say = capability("say", { intent: "Say it", execute: () => ({ said: ${JSON.stringify(word)} }) });`,
      );
    write("one");
    await using dev = running(
      "dev",
      modules,
      "--packets",
      "127.0.0.1:0",
      "--no-auth",
      "--http",
      "127.0.0.1:0",
      "--data",
      join(folder, "dev"),
      "--json",
    );
    await dev.said(/"ready":true/);
    const ready = lines(dev.out())[0];
    await using tcp = await lineClient(String(at(ready, "packetsTcp")));
    const ask = async (id: string): Promise<unknown> => {
      tcp.say({ version: "1.0", type: "capability_request", capability_id: "say", id });
      return at(await tcp.until((frame) => at(frame, "id") === id), "payload");
    };
    assert.deepEqual(await ask("a"), { said: "one" });
    write("two");
    await dev.said(/"event":"reloaded"/);
    assert.deepEqual(await ask("b"), { said: "two" });
  });
});

describe("capabilities over MCP and packets", () => {
  for (const which of CLIENTS)
    test(`are the same tools and the same actor, to SDK ${which.sdk} of the ${which.era} era #packet.state.structure #packet.security.authorization #packet.implied.8-actor-id #packet.resources`, async () => {
      await using other = await serveChild([assistant, "--packets", "--api-keys", keys, "--rate", "0"]);
      await using client = await connect({ http: String(other.ready.http) }, which, { headers: bearer("ada") });
      const url = String(other.ready.packets);
      const tools = await client.tools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        [ID, `${ID}_search`],
      );
      assert.deepEqual(at(tools[0]?.inputSchema, "required"), ["message_type"]);
      const told = await client.call(ID, { message_type: "note", text: "Retention follows onboarding", topic: "retention" });
      assert.deepEqual([told.isError, told.structured], [false, { noted: 1 }]);
      const asked = await one(
        {
          version: "1.0",
          type: "capability_request",
          capability_id: ID,
          payload: { message_type: "conversation", message: "And retention?" },
        },
        "ada",
        url,
      );
      assert.match(String(at(asked, "payload", "answer")), /Retention follows onboarding/);
      const recalled = (await client.call(ID, { message_type: "recall" })).structured;
      assert.equal(at(recalled, "notes", 0, "text"), "Retention follows onboarding");
      await one(note("not hers"), "bob", url);

      assert.deepEqual(await client.resources(), ["packetflow://capabilities", "packetflow://actors"]);
      const listing: unknown = JSON.parse(await client.read("packetflow://capabilities"));
      assert.equal(at(listing, "capabilities", 0, "id"), ID);
      const uri = `packetflow://actor/${ID}/${encodeURIComponent(`${ID}:ada`)}`;
      assert.deepEqual(JSON.parse(await client.read("packetflow://actors")), {
        actors: [{ capability_id: ID, actor_id: `${ID}:ada`, uri }],
      });
      const state: unknown = JSON.parse(await client.read(uri));
      assert.deepEqual(Object.keys(Object(state)), ["actor_id", "capability_id", "state", "metadata"]);
      assert.equal(at(state, "metadata", "message_count"), 2);
      await assert.rejects(client.read(`packetflow://actor/${ID}/${encodeURIComponent(`${ID}:bob`)}`));

      if (which.era === "legacy") {
        await client.subscribe(uri);
        await client.subscribe("packetflow://actors");
      } else await client.listen({ resourceSubscriptions: [uri, "packetflow://actors"] });
      const updates = (): readonly unknown[] =>
        client.heard.filter(({ method }) => method === "notifications/resources/updated").map(({ params }) => params["uri"]);
      await one(note("more"), "ada", url);
      await until("the change of the actor", () => updates().includes(uri));
      await one(note("another", { actor_id: "second" }), "ada", url);
      await until("the new actor", () => updates().includes("packetflow://actors"));
      assert.equal(at(JSON.parse(await client.read(uri)), "metadata", "message_count"), 3);
    });
});

describe("what was said to an assistant", () => {
  const found = async (url: string, who: string, query: string): Promise<readonly unknown[]> => {
    const reply = await one({ version: "1.0", type: "capability_request", capability_id: `${ID}_search`, payload: { query } }, who, url);
    const hits = at(reply, "payload", "hits");
    assert.ok(Array.isArray(hits), JSON.stringify(reply));
    return hits.map((hit) => at(hit, "snippet"));
  };

  test("is found by whose it is, also after a restart and with the index thrown away #packet.phase.3-search #packet.search.index", async () => {
    const data = join(folder, "searched");
    const args = [assistant, "--packets", "--api-keys", keys, "--rate", "0"];
    const said = "Cohorts with onboarding keep users";
    {
      await using first = await serveChild(args, { data });
      const url = String(first.ready.packets);
      await one(note(said), "ada", url);
      assert.deepEqual(await found(url, "ada", "ONBOARDING cohorts"), [said]);
      assert.deepEqual(await found(url, "bob", "onboarding"), []);
      for (const wrong of [{ query: '"' }, { query: "a", actor_id: "" }, { query: "a", limit: 99 }]) {
        const reply = await one({ version: "1.0", type: "capability_request", capability_id: `${ID}_search`, payload: wrong }, "ada", url);
        assert.equal(errorType(reply), "validation_failed", JSON.stringify(wrong));
      }
    }
    {
      await using second = await serveChild(args, { data });
      const url = String(second.ready.packets);
      assert.deepEqual(await found(url, "ada", "onboarding"), [said]);
      const recalled = await one({ ...note(""), payload: { message_type: "recall" } }, "ada", url);
      assert.equal(at(recalled, "payload", "notes", 0, "text"), said);
    }
    rmSync(join(data, "search.db"));
    await using third = await serveChild(args, { data });
    await until("the index is made anew", async () => (await found(String(third.ready.packets), "ada", "onboarding")).length === 1);
  });
});
