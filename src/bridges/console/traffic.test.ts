import assert from "node:assert/strict";
import { test } from "node:test";
import { isJsonObject, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { connectInMemory } from "../../mcp/transport/index.ts";
import { RecordedServer, textOf } from "./recorded.fixture.ts";
import { SecretArguments } from "./secret-arguments.ts";
import { Traffic } from "./traffic.ts";

const TASKS = "io.modelcontextprotocol/tasks";

const texts = (detail: JsonObject): readonly string[] =>
  Array.isArray(detail["responses"]) ? detail["responses"].map((one) => (isJsonObject(one) ? textOf(one["text"]) : "")) : [];

test("a session over HTTP: its messages, names, times and results, without the session's id", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  await server.callIn(session, "look");
  await server.callIn(session, "open", { code: "wrong" });
  await server.callIn(session, "nothing");
  const rows = await server.items("/traffic");
  assert.deepEqual(
    rows.map(({ method, name, status, era, client, direction, transport }) => [method, name, status, era, client, direction, transport]),
    [
      ["tools/call", "nothing", "error", "legacy", "old-client 1.2", "in", "http"],
      ["tools/call", "open", "tool-error", "legacy", "old-client 1.2", "in", "http"],
      ["tools/call", "look", "ok", "legacy", "old-client 1.2", "in", "http"],
      ["notifications/initialized", undefined, "notification", "legacy", "old-client 1.2", "in", "http"],
      ["initialize", undefined, "ok", "legacy", "old-client 1.2", "in", "http"],
    ],
  );
  const [unknown, refused, looked, , begun] = rows;
  assert.equal(refused?.["code"], "WRONG_CODE");
  assert.ok(isJsonObject(unknown?.["error"]) && unknown["error"]["code"] === -32602);
  assert.ok(Number(looked?.["ms"]) >= 0 && Number(looked?.["requestBytes"]) > 50 && Number(looked?.["responseBytes"]) > 50);
  assert.equal(new Set(rows.map((row) => row["session"])).size, 1);
  for (const row of rows) {
    const { body } = await server.api(`/traffic/${textOf(row["n"])}`);
    assert.ok(!JSON.stringify(body).includes(session), `the session's id is in ${JSON.stringify(body)}`);
  }
  const { body } = await server.api(`/traffic/${textOf(begun?.["n"])}`);
  assert.match(textOf(body["request"]), /"clientInfo"/);
  assert.match(texts(body)[0] ?? "", /"protocolVersion":"2025-11-25"/);
  assert.equal(body["responseStatus"], 200);
});

test("of a call that is too long to be read, what it was answered is hidden as well", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  // Its secret comes before or behind what is stored, is wrong, or does not fit.
  for (const args of [
    { code: "xyzzy-1234", note: "x".repeat(100_000) },
    { note: "x".repeat(100_000), code: "xyzzy-1234" },
    { code: "xyzzy-1234", note: 5 },
    { code: ["xyzzy-1234"] },
  ])
    await server.callIn(session, "open", args);
  for (const { n } of await server.items("/traffic")) {
    const { body } = await server.api(`/traffic/${textOf(n)}`);
    assert.ok(!JSON.stringify(body).includes("xyzzy"), JSON.stringify(body).slice(0, 2_000));
  }
  assert.ok(!JSON.stringify(await server.api("/doctor")).includes("xyzzy"));
});

test("all messages are read with their details in pages, newest first", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  for (let n = 0; n < 12; n += 1) await server.callIn(session, "open", { code: "secret-code" });
  const numbers: unknown[] = [];
  let pages = 0;
  for (let after = ""; ; pages += 1) {
    const { body } = await server.api(`/traffic-details?limit=5${after}`);
    const items = Array.isArray(body["items"]) ? body["items"] : [];
    for (const item of items) numbers.push(isJsonObject(item) && typeof item["request"] === "string" ? item["n"] : undefined);
    assert.ok(!JSON.stringify(items).includes("secret-code"));
    if (body["next"] === undefined) break;
    after = `&after=${textOf(body["next"])}`;
  }
  assert.deepEqual(
    numbers,
    (await server.items("/traffic")).map(({ n }) => n),
  );
  assert.equal(numbers.length, 14);
  assert.equal(pages, 2);
});

test("secret arguments, also within a call of a meta tool, tokens and cookies are hidden wherever they are", async () => {
  await using server = await RecordedServer.start();
  const code = 'xyzzy-"1234"';
  await server.call("open", { code, note: "for the record" });
  await (
    await server.send(
      { id: 1, method: "tools/call", params: { name: "call_tool", arguments: { name: "safe_open", arguments: { code } } } },
      { authorization: "Bearer abcdef123456", cookie: "id=987654321", "x-api-key": "k-1357911", "x-note": "plain" },
    )
  ).text();
  const details = [];
  for (const { n } of await server.items("/traffic")) details.push((await server.api(`/traffic/${textOf(n)}`)).body);
  const all = JSON.stringify(details);
  for (const secret of ["xyzzy", "1234", "abcdef123456", "987654321", "k-1357911"])
    assert.ok(!all.includes(secret), `${secret} is in ${all}`);
  assert.match(all, /for the record/);
  const [within] = details;
  assert.ok(isJsonObject(within?.["requestHeaders"]));
  assert.equal(within["requestHeaders"]["cookie"], "[hidden]");
  assert.equal(within["requestHeaders"]["x-note"], "plain");
  assert.deepEqual((await server.items("/traffic?search=xyzzy")).length, 0);
});

test("secret arguments are hidden in calls by the tool act, of misspelt tools, and where they are no object or there twice", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  const code = "xyzzy-1234";
  const send = async (params: string): Promise<void> => {
    const response = await fetch(`${server.origin}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session },
      body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
    });
    await response.text();
  };
  const calls: readonly object[] = [
    { name: "act", arguments: { action: "open", arguments: { code } } },
    { name: "act", arguments: { action: "oppen", arguments: { code } } },
    { name: "act", arguments: { action: "open", args: { code } } },
    { name: "oppen", arguments: { code } },
    { arguments: { code } },
    { name: "open", arguments: JSON.stringify({ code }) },
    { name: "open", arguments: [{ code }] },
    ["open", { code }],
  ];
  for (const call of calls) await send(JSON.stringify(call));
  await send(`{"name":"open","arguments":{"code":"${code}"},"arguments":{}}`);
  await send(`{"name":"look","arguments":{"page":"first-page"}}`);
  const rows = await server.items("/traffic?method=tools/call");
  assert.equal(rows.length, calls.length + 2);
  const details = await Promise.all(rows.map(async ({ n }) => (await server.api(`/traffic/${textOf(n)}`)).body));
  for (const body of details) assert.ok(!JSON.stringify(body).includes("xyzzy"), JSON.stringify(body));
  assert.match(textOf(details[0]?.["request"]), /first-page/);
});

test("clients of 2026-07-28 are one row for each client and principal, with their figures", async () => {
  await using server = await RecordedServer.start();
  await server.call("look", {}, { client: "a" });
  await server.call("look", {}, { client: "a" });
  await server.call("open", { code: "wrong" }, { client: "b" });
  await server.begin("c");
  const rows = await server.items("/sessions");
  const of = (client: string): JsonObject => rows.find((row) => row["client"] === client) ?? {};
  assert.deepEqual([of("a 3")["requests"], of("a 3")["errors"], of("a 3")["revision"]], [2, 0, "2026-07-28"]);
  assert.deepEqual([of("b 3")["requests"], of("b 3")["errors"]], [1, 1]);
  assert.deepEqual([of("c 1.2")["requests"], of("c 1.2")["revision"]], [1, "2025-11-25"]);
  assert.ok(Number(of("a 3")["p50Ms"]) > 0);
});

test("a connection: requests and responses are paired, notifications of the server are messages of their own", async () => {
  await using server = await RecordedServer.start();
  await using client = connectInMemory(server.live.gateway(server.gateway, "memory"), { principal: "ada", scopes: [] });
  const replies: string[] = [];
  client.onMessage((text) => replies.push(text));
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "piped", version: "0" } };
  client.send({ jsonrpc: "2.0", id: "a,b", method: "initialize", params });
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "open", arguments: { code: "plover-77" } } });
  while (replies.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const rows = await server.items("/traffic");
  const named = rows.map(({ method, status, session, principal, client: by }) => [method, status, session, principal, by]);
  assert.deepEqual(named.slice(-3), [
    ["tools/call", "ok", "memory|1", "ada", "piped 0"],
    ["notifications/initialized", "notification", "memory|1", "ada", "piped 0"],
    ["initialize", "ok", "memory|1", "ada", "piped 0"],
  ]);
  const { body } = await server.api(`/traffic/${textOf(rows.at(-3)?.["n"])}`);
  assert.match(texts(body)[0] ?? "", /Opened with \[hidden\]/);
  assert.equal((await server.items("/sessions"))[0]?.["name"], "memory|1");
});

test("pages, filters and bad parameters", async () => {
  await using server = await RecordedServer.start();
  for (let n = 0; n < 5; n += 1) await server.call("look", {}, { client: `c${n}` });
  const first = await server.api("/traffic?limit=2");
  assert.deepEqual([first.body["next"], first.body["skipped"]], ["4", 0]);
  assert.deepEqual(
    (await server.items("/traffic?limit=2&after=4")).map(({ n }) => n),
    [3, 2],
  );
  assert.equal((await server.api("/traffic?limit=2&after=2")).body["next"], undefined);
  assert.equal((await server.items("/traffic?search=C3")).length, 1);
  assert.equal((await server.items("/traffic?method=tools/list")).length, 0);
  assert.equal((await server.items(`/traffic?session=${encodeURIComponent("c1 3 | 127.0.0.1")}`)).length, 1);
  for (const path of ["/traffic?limit=0", "/traffic?limit=x", "/traffic?after=-1", `/traffic?search=${"x".repeat(513)}`])
    assert.equal((await server.api(path)).status, 400, path);
  for (const path of ["/traffic/99", "/traffic/x", "/traffic/1e3"]) assert.equal((await server.api(path)).status, 404, path);
});

test("requests lead to the events that they caused, and events to their request", async () => {
  await using server = await RecordedServer.start();
  const session = await server.begin();
  await server.callIn(session, "look");
  await server.callIn(session, "open", { code: "1" });
  await server.call("open", { code: "2" });
  await using client = connectInMemory(server.live.gateway(server.gateway, "memory"));
  const meta = "io.modelcontextprotocol/";
  const _meta = { [`${meta}protocolVersion`]: "2026-07-28", [`${meta}clientInfo`]: { name: "c" }, [`${meta}clientCapabilities`]: {} };
  const params = { name: "open", arguments: { code: "3" }, _meta };
  const answered = new Promise<void>((resolve) => client.onMessage(() => resolve()));
  client.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  await answered;
  const rows = await server.items("/traffic?method=tools/call");
  const event = (seq: number) => [{ actor: "safe/main", seq }];
  assert.deepEqual(
    rows.map(({ name, events }) => [name, events]),
    [
      ["open", event(3)],
      ["open", event(2)],
      ["open", event(1)],
      ["look", undefined],
    ],
  );
  const { traffic } = server.live;
  assert.equal(traffic.rows.requestOf("safe/main", 2)?.client, "new-client 3");
  assert.equal(traffic.rows.requestOf("safe/main", 9), undefined);
  assert.ok((await server.items("/sessions")).every(({ actor }) => actor === "safe/main"));
});

test("the request of an event is known for longer than its message is recorded", () => {
  const traffic = new Traffic({ clock: systemClock, secrets: new SecretArguments(() => []), mostRows: 2 });
  const client = traffic.clients.connection("memory", { scopes: [] }, 0);
  const call = (id: number) => traffic.frame(client, JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call" }), { scopes: [] });
  const rows = [call(1), call(2), call(3)];
  for (const [seq, row] of rows.entries()) if (row !== undefined) traffic.rows.committed(row, { actor: "safe/main", seq });
  assert.deepEqual(
    [0, 1, 2].map((seq) => traffic.rows.requestOf("safe/main", seq)?.n),
    [undefined, 2, 3],
  );
  call(4);
  const earlier = traffic.rows.requestOf("safe/main", 1);
  assert.deepEqual([earlier?.n, earlier?.method], [undefined, "tools/call"]);
  assert.equal(traffic.rows.requestOf("safe/main", 9), undefined);
  traffic.close();
});

test("traffic is found by principal, by how long it took, and by what requests say or also what they were answered", async () => {
  await using server = await RecordedServer.start();
  const { traffic } = server.live;
  const session = await server.begin();
  await server.callIn(session, "look");
  const page = (query: string) => server.items(`/traffic?${query}`);
  assert.equal((await page("search=opened&in=requests")).length, 0);
  assert.equal((await page("search=opened")).length, 1);
  assert.equal((await page("principal=ann")).length, 0);
  assert.equal((await page("slow=600000")).length, 0);
  assert.equal((await server.api("/traffic?slow=0")).status, 400);
  const { body } = await server.api("/traffic");
  assert.deepEqual([Object(body["sessions"]).length, body["principals"]], [1, []]);
  const ann = { principal: "ann", scopes: ["a"], claims: { roles: ["responder"] } };
  const client = traffic.clients.connection("memory", ann, traffic.now());
  traffic.frame(client, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }), ann);
  assert.equal((await page("principal=ann")).length, 1);
  // What the server sends is no call.
  traffic.sent(client, '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  const [caller, ...others] = await server.items("/callers");
  assert.deepEqual([caller?.["principal"], caller?.["scopes"], caller?.["claims"]], ["ann", ["a"], { roles: ["responder"] }]);
  assert.equal(others.length, 0);
});

test("a request that gives another client's name as its session is not that client's", async () => {
  await using server = await RecordedServer.start();
  const { traffic } = server.live;
  traffic.clients.connection("memory", { scopes: [] }, traffic.now());
  const response = await fetch(`${server.origin}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": "memory|1" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  assert.ok(response.status >= 400);
  await response.text();
  const [row] = await server.items("/traffic");
  assert.deepEqual([row?.["method"], row?.["transport"], row?.["session"]], ["ping", "http", undefined]);
});

test("what comes too fast is counted, and neither memory nor time grows with it", async () => {
  await using server = await RecordedServer.start();
  await using client = connectInMemory(server.live.gateway(server.gateway, "memory"));
  const params = { name: "look", _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  for (let id = 0; id < 5_000; id += 1) client.send({ jsonrpc: "2.0", id, method: "tools/call", params });
  const { traffic } = server.live;
  assert.equal(traffic.received, 5_000);
  assert.ok(traffic.skipped >= 4_000, `${traffic.skipped}`);
  assert.ok(Array.from(traffic.rows.newest()).every((row) => !row.isRunning));
});

test("a message that cannot be read is recorded, cut and served", async () => {
  await using server = await RecordedServer.start();
  const broken = await fetch(`${server.origin}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${"[".repeat(100_000)}`,
  });
  assert.equal(broken.status, 413);
  await server.call("look", { note: "y".repeat(200_000) });
  const [long, bad] = await server.items("/traffic");
  assert.deepEqual([bad?.["method"], bad?.["status"]], ["tools/call", "error"]);
  const { body } = await server.api(`/traffic/${textOf(long?.["n"])}`);
  assert.equal(body["requestCut"], true);
  assert.ok(textOf(body["request"]).length <= 65_536 && Number(body["requestBytes"]) > 200_000);
});

test("tasks are listed and cancelled", async () => {
  await using server = await RecordedServer.start();
  await server.call("wait", {}, { extensions: { [TASKS]: {} } });
  const [task] = await server.items("/tasks");
  assert.deepEqual([task?.["tool"], task?.["status"], task?.["message"]], ["wait", "working", "half"]);
  const id = textOf(task?.["id"]);
  const cancelled = await server.api(`/tasks/${id}/cancel`, {});
  assert.deepEqual([cancelled.status, cancelled.body["status"]], [200, "cancelled"]);
  assert.equal((await server.api(`/tasks/${id}/cancel`, {})).status, 409);
  assert.equal((await server.api("/tasks/none/cancel", {})).status, 404);
});

test("GET / says what the recorder adds, and why it is missing without one", async () => {
  await using server = await RecordedServer.start();
  const { body } = await server.api("/");
  for (const ability of ["traffic", "sessions", "tasks"]) assert.ok(Array.isArray(body["can"]) && body["can"].includes(ability));
});
