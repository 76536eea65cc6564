import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, assertToolResult, testServer } from "troupe/testing";
import { desk, inbox, incident, open } from "./index.ts";

const MINUTE = 60_000;

async function office() {
  const server = await testServer([desk, incident, inbox], { indexes: [open] });
  return {
    server,
    rita: server.client({ principal: "rita" }),
    sam: server.client({ principal: "sam", claims: { roles: ["responder"] } }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

test("only responders acknowledge and resolve an incident, and its reporter is notified", async () => {
  await using at = await office();
  const { rita, sam } = at;
  assertToolResult(await rita.tools.report({ title: "No lights", severity: 2 }), { incident: "INC-1" });
  assertRefused(await rita.callTool("incident__acknowledge", { incident: "INC-1" }), "Only responders may do this.", "NOT_NOW");
  assertRefused(await sam.callTool("incident__resolve", { incident: "INC-1" }), /Only an acknowledged incident/, "NOT_NOW");
  assertToolResult(await sam.callTool("incident__acknowledge", { incident: "INC-1" }), "Acknowledged.");
  // The reply of `settled` comes when the inbox has the message.
  assert.match(await rita.readText("inbox://mine"), /INC-1 was acknowledged\./);
  await sam.callTool("incident__resolve", { incident: "INC-1" });
  assertRefused(await sam.callTool("incident__acknowledge", { incident: "INC-1" }), "The incident is resolved.", "NOT_NOW");
  assertRefused(await sam.callTool("incident__acknowledge", { incident: "INC-9" }));
});

test("an unacknowledged incident is escalated to the users on call after 15 minutes", async () => {
  await using at = await office();
  const { server, rita, sam } = at;
  assertRefused(await rita.tools.go_on_call(), "Only responders may do this.");
  await sam.tools.go_on_call();
  await rita.tools.report({ title: "No water", severity: 3 });
  await rita.tools.report({ title: "No heating", severity: 2 });
  await sam.callTool("incident__acknowledge", { incident: "INC-2" });
  await server.clock.advance(15 * MINUTE - 1);
  assert.equal(await sam.readText("inbox://mine"), "[]");
  await server.clock.advance(1);
  assert.match(await sam.readText("inbox://mine"), /INC-1 is not acknowledged: No water/);
  assert.doesNotMatch(await sam.readText("inbox://mine"), /INC-2/);
});

test("the index lists open incidents, the worst first", async () => {
  await using at = await office();
  const { server, rita, sam } = at;
  for (const severity of [3, 1, 2]) await rita.tools.report({ title: `Of severity ${severity}`, severity });
  await sam.callTool("incident__acknowledge", { incident: "INC-3" });
  await sam.callTool("incident__resolve", { incident: "INC-3" });
  const page = await server.engine.query(open, {});
  assert.deepEqual(
    page.items.map(({ key, severity }) => [key, severity]),
    [
      ["INC-2", 1],
      ["INC-1", 3],
    ],
  );
  assert.match(await rita.readText("incidents://open"), /INC-2.+INC-1/s);
  assertToolResult(await rita.callTool("find_incidents", { where: { severity: 3 } }), /INC-1/);
});

test("comments and notifications are limited in length and in number", async () => {
  await using at = await office();
  const { server, rita, sam } = at;
  await rita.tools.report({ title: "No lights", severity: 2 });
  const comment = (text: string) => sam.callTool("incident__comment", { incident: "INC-1", text });
  assertRefused(await comment("x".repeat(2_001)), /text/, "INVALID");
  for (let n = 0; n < 200; n += 1) await comment(`${n}`);
  assertRefused(await comment("one more"), "There are too many comments: report another incident.", "NOT_NOW");
  for (let n = 0; n < 201; n += 1) await server.engine.call(inbox.at("rita").notify({ text: `Notice ${n}` }));
  const notices = await rita.readText("inbox://mine");
  assert.doesNotMatch(notices, /Notice 0"/);
  assert.match(notices, /Notice 1".*Notice 200"/s);
});

test("two clients of one user comment on two incidents at once, each on its own", async () => {
  await using at = await office();
  const { server } = at;
  const clients = [server.client({ principal: "sam" }), server.client({ principal: "sam", era: "modern" })] as const;
  for (const client of clients) await client.tools.report({ title: "Two at once", severity: 2 });
  const steps = Array.from({ length: 100 }, (_, step) => step);
  await Promise.all(
    clients.map(async (client, n) => {
      for (const step of steps) await client.callTool("incident__comment", { incident: `INC-${n + 1}`, text: `${n}.${step}` });
    }),
  );
  for (const n of clients.keys()) {
    const state = JSON.stringify((await server.engine.read(incident.id(`INC-${n + 1}`)))?.state);
    assert.deepEqual(
      [...state.matchAll(/"text":"([^"]+)"/g)].map(([, text]) => text),
      steps.map((step) => `${n}.${step}`),
    );
  }
});

test("an incident with 200 of the longest comments can still be acknowledged", async () => {
  await using at = await office();
  const { server, rita, sam } = at;
  await rita.tools.report({ title: "No lights", severity: 2 });
  const comment = { incident: "INC-1", text: "\u0001".repeat(2_000) };
  for (let n = 0; n < 200; n += 1) assertToolResult(await rita.callTool("incident__comment", comment), "Done.");
  assertRefused(await rita.callTool("incident__comment", comment), /too many comments/);
  assertToolResult(await sam.callTool("incident__acknowledge", { incident: "INC-1" }), "Acknowledged.");
  assert.deepEqual(server.faults, []);
});
