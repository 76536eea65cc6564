// Servers that share tables and are otherwise independent, as cloud functions are.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { createServer, type Server } from "troupe/server";
import { createSessionTables, dynamoSessionStores } from "troupe/dynamo";
import { onDynamo } from "../../examples/server/sessions.ts";
import { CLIENTS, connect } from "../clients.ts";
import { eventsOf, raw, type ReadEvent } from "../server/sessions-processes.ts";
import { FAKE_CREDENTIALS, startDynamo } from "./tables.ts";

const dynamo = await startDynamo();
after(() => dynamo[Symbol.asyncDispose]());

const gates = new Map<string, PromiseWithResolvers<void>>();
const gateOf = (name: string): PromiseWithResolvers<void> => {
  const gate = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, gate);
  return gate;
};

/** Two servers over new tables, each with its own client, stores and listeners. */
async function two() {
  const tables = await dynamo.tables();
  const own = new AsyncDisposableStack();
  const open = async (name: string) => {
    const stores = own.use(dynamoSessionStores({ ...tables, env: {} }));
    const server: Server = own.use(createServer(name, "1.0.0", { ...stores, requestStateKey: new Uint8Array(32) }));
    server.tools.register({ name: "where", description: "Which server this is." }, () => name);
    server.tools.register(
      {
        name: "walk",
        description: "Two steps, and a gate before the second.",
        input: { type: "object", properties: { gate: { type: "string" } } },
      },
      async ({ args: { gate = "" }, emit }) => {
        emit({ step: 1 });
        await gateOf(gate).promise;
        emit({ step: 2 });
        return "there";
      },
    );
    const { http } = await server.listen({ http: true });
    return http.url;
  };
  return { urls: [await open("a"), await open("b")] as const, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

async function begin(url: string): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const response = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  await response.text();
  return response.headers.get("mcp-session-id") ?? assert.fail();
}

/** Calls `walk`, and disconnects at the first step. */
async function leaveWalk(url: string, session: string, gate: string): Promise<readonly ReadEvent[]> {
  const body = { id: 2, method: "tools/call", params: { name: "walk", arguments: { gate }, _meta: { progressToken: gate } } };
  const seen: ReadEvent[] = [];
  for await (const event of eventsOf(await raw(url, session, "POST", { body }))) {
    seen.push(event);
    if (event.data.includes("notifications/progress")) break;
  }
  return seen;
}

const rest = async (url: string, session: string, last: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { data } of eventsOf(await raw(url, session, "GET", { headers: { "last-event-id": last } })))
    if (data !== "") found.push(data);
  return found;
};

for (const which of CLIENTS.filter(({ era }) => era === "legacy"))
  test(`the official client ${which.sdk} moves between two servers over the same tables #apptheory.sessions.store`, async () => {
    await using servers = await two();
    let at = 0;
    const fetchAt = (_url: string | URL, init?: RequestInit): Promise<Response> => fetch(servers.urls[at] ?? "", init);
    await using client = await connect({ http: servers.urls[0] }, which, { fetch: fetchAt });
    for (at of [1, 0, 1]) assert.equal((await client.call("where")).text, ["a", "b"][at]);
  });

test("a second server replays and follows a reply that the first one began, also after its end #apptheory.later.streams", async () => {
  await using servers = await two();
  const [a, b] = servers.urls;
  const session = await begin(a);
  const seen = await leaveWalk(a, session, "far");
  const following = rest(b, session, seen[0]?.id ?? "");
  gateOf("far").resolve();
  const followed = await following;
  assert.match(followed[0] ?? "", /"progress":1/);
  assert.match(followed.at(-1) ?? "", /"text":"there"/);
  assert.deepEqual(await rest(b, session, seen[0]?.id ?? ""), followed, "again, now that it is over");
  assert.deepEqual(await rest(a, session, seen.at(-1)?.id ?? ""), followed.slice(1), "from the middle, at the first");
});

test("the guide's server finds its tables with the AWS SDK's configuration", async () => {
  // An invalid region: without the configured endpoint there would be no server to reach.
  const environment = {
    AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
    AWS_ACCESS_KEY_ID: FAKE_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: FAKE_CREDENTIALS.secretAccessKey,
    MCP_SESSION_TABLE: "configured",
  };
  Object.assign(process.env, environment);
  try {
    await createSessionTables({ region: "local" });
    const { server, stores } = onDynamo("local", new Uint8Array(32));
    await using own = new AsyncDisposableStack();
    own.use(stores);
    own.use(server);
    const { http } = await server.listen({ http: true });
    const session = await begin(http.url);
    const key = { TableName: "configured", Key: { sessionId: { S: session } } };
    assert.ok((await dynamo.client.send(new GetItemCommand(key))).Item);
  } finally {
    for (const name of Object.keys(environment)) Reflect.deleteProperty(process.env, name);
  }
});

test("a session that one server ends is closed at the other at once, even during a call", async () => {
  await using servers = await two();
  const [a, b] = servers.urls;
  const session = await begin(a);
  const seen = await leaveWalk(a, session, "delayed");
  const ended = await raw(b, session, "DELETE");
  assert.ok(ended.ok);
  gateOf("delayed").resolve();
  for (const url of servers.urls) {
    assert.equal((await raw(url, session, "POST", { body: { id: 3, method: "ping" } })).status, 404);
    assert.equal((await raw(url, session, "GET", { headers: { "last-event-id": seen[0]?.id ?? "" } })).status, 404);
  }
});

test("a session that another kind of server stored is treated as unknown, by each `unknownSession`", async () => {
  const tables = await dynamo.tables();
  // An item as AppTheory's server for Go writes it, to a table of the same name.
  const left = {
    sessionId: { S: "left-by-go" },
    createdAt: { S: "2026-01-31T12:00:00Z" },
    expiresAt: { N: String(2 ** 32) },
    data: { M: { a: { S: "b" } } },
  };
  await tables.client.send(new PutItemCommand({ TableName: tables.table, Item: left }));
  for (const [unknownSession, status] of [
    ["reject", 404],
    ["reissue", 200],
    ["adopt", 200],
  ] as const) {
    await using own = new AsyncDisposableStack();
    const stores = own.use(dynamoSessionStores({ ...tables, env: {} }));
    const server = own.use(createServer("s", "1.0.0", { ...stores, unknownSession, requestStateKey: new Uint8Array(32) }));
    const { http } = await server.listen({ http: true });
    assert.equal((await raw(http.url, "left-by-go", "POST", { body: { id: 1, method: "ping" } })).status, status, unknownSession);
  }
});
