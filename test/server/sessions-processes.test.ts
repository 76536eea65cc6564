// Two server processes that share only a session file, and clients that move between them.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { CLIENTS, connect } from "../clients.ts";
import { as, eventsOf, raw, roaming, twoProcesses } from "./sessions-processes.ts";

const processes = await twoProcesses();
after(() => processes[Symbol.asyncDispose]());
const { urls, pids } = processes;
const [A, B] = [0, 1] as const;
const LIST = { id: 9, method: "tools/list" };

const open = (gate: string) => ({ id: 3, method: "tools/call", params: { name: "open", arguments: { gate } } });

describe("two processes over one session file", () => {
  for (const which of CLIENTS.filter(({ era }) => era === "legacy"))
    test(`the official client ${which.sdk} moves between both within its session`, async () => {
      const way = roaming(urls);
      await using client = await connect({ http: urls[A] }, which, { headers: as("ada"), fetch: way.fetch });
      const { session = "" } = way;
      assert.notEqual(session, "");
      way.go(B);
      assert.equal((await client.call("where")).text, pids[B]);
      way.go(A);
      assert.deepEqual(
        (await client.tools()).map(({ name }) => name),
        ["where", "walk", "open"],
      );
      assert.equal((await client.call("where")).text, pids[A]);
      assert.equal(way.session, session, "it is one session");

      for (const url of urls) assert.equal((await raw(url, session, "POST", { headers: as("bob"), body: LIST })).status, 404);
      assert.equal((await raw(urls[A], session, "POST", { body: LIST })).status, 401);

      assert.ok((await raw(urls[B], session, "DELETE", { headers: as("ada") })).ok);
      for (const url of urls) assert.equal((await raw(url, session, "POST", { headers: as("ada"), body: LIST })).status, 404);
    });

  for (const which of CLIENTS.filter(({ era }) => era === "legacy"))
    test(`the official client ${which.sdk} gets its reply from the other if the first disconnects`, async () => {
      const way = roaming(urls);
      await using client = await connect({ http: urls[A] }, which, { headers: as("ada"), fetch: way.fetch });
      const called = client.call("walk", { gate: which.sdk });
      // The reply is an event stream, which the client can resume from its first event.
      await way.breaksOff;
      way.go(B);
      await way.asksAgain;
      assert.ok((await raw(urls[A], way.session ?? "", "POST", { headers: as("ada"), body: open(which.sdk) })).ok);
      assert.equal((await called).text, `walked in ${pids[A]}`);
    });

  test("a reply that broke off at one process is resumed at the other", async () => {
    const initialize = {
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const begun = await fetch(urls[A], {
      method: "POST",
      headers: { ...as("ada"), accept: "application/json, text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", ...initialize }),
    });
    const session = begun.headers.get("mcp-session-id") ?? assert.fail();
    await begun.body?.cancel();
    const walk = { id: 2, method: "tools/call", params: { name: "walk", arguments: { gate: "raw" }, _meta: { progressToken: "p" } } };
    const headers = as("ada");
    let last = "";
    for await (const { id, data } of eventsOf(await raw(urls[A], session, "POST", { headers, body: walk }))) {
      last = id;
      // The client disconnects: the body is cancelled, and the walk goes on.
      if (data.includes("notifications/progress")) break;
    }
    assert.equal((await raw(urls[B], session, "GET", { headers: { ...as("bob"), "last-event-id": last } })).status, 404);
    const resumed = await raw(urls[B], session, "GET", { headers: { ...headers, "last-event-id": last } });
    assert.equal(resumed.status, 200);
    assert.equal((await raw(urls[A], session, "POST", { headers, body: open("raw") })).status, 200);
    const rest: unknown[] = [];
    for await (const { data } of eventsOf(resumed)) if (data !== "") rest.push(JSON.parse(data));
    assert.deepEqual(rest, [{ jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: `walked in ${pids[A]}` }] } }]);
  });
});
