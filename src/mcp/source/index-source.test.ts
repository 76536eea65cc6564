import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import { isJsonObject, type Json } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { testServer } from "../../testing/index.ts";
import { cast } from "./index.ts";

const board = (owner: "anyone" | "starter") =>
  actor("incident", {
    description: "An incident.",
    per: "link",
    autoStart: true,
    owner,
    state: z.object({ title: z.string().default(""), severity: z.number().default(3), notes: z.number().default(0) }),
    tools: {
      report: {
        description: "Report.",
        input: z.object({ title: z.string(), severity: z.number() }),
        run({ state, args }) {
          state.title = args.title;
          state.severity = args.severity;
        },
      },
      note: {
        description: "Note.",
        run({ state }) {
          state.notes += 1;
        },
      },
    },
  });

const incident = board("anyone");
const all = index(incident, {
  pick: ["title", "severity"],
  order: "severity",
  uri: "incidents://all",
  tool: "find_incidents",
  description: "All incidents.",
});

const report = (engine: LocalEngine, key: string, severity: number, principal = "ann") =>
  engine.call({
    to: incident.id(key),
    action: "tools/report",
    args: { title: key, severity },
    start: null,
    viewer: { principal, scopes: [] },
  });

const pageOf = (text: Json | undefined): Json => (typeof text === "string" ? JSON.parse(text) : null);
const keysIn = (page: Json | undefined): readonly Json[] => {
  const items = isJsonObject(page) ? page["items"] : undefined;
  return Array.isArray(items) ? items.map((item: Json) => (isJsonObject(item) ? (item["key"] ?? null) : null)) : [];
};

for (const era of ["legacy", "modern"] as const)
  test(`${era}: an index is a resource with its first page, and a tool with filters and pages #index.source`, async () => {
    await using server = await testServer([incident], { indexes: [all] });
    const client = server.client({ era });
    for (const [key, severity] of [
      ["a", 2],
      ["b", 1],
      ["c", 3],
    ] as const)
      await report(server.engine, key, severity);
    const [resource] = await client.listResources();
    assert.deepEqual(resource, {
      uri: "incidents://all",
      name: "incidents-all",
      description: "All incidents.",
      mimeType: "application/json",
    });
    const read = await client.readResource("incidents://all");
    assert.deepEqual(keysIn(pageOf(read.contents[0]?.["text"])), ["b", "a", "c"]);
    const tools = await client.listTools();
    assert.deepEqual(tools.find(({ name }) => name === "find_incidents")?.["annotations"], { readOnlyHint: true, openWorldHint: false });
    const first = await client.callTool("find_incidents", { where: { severity: { gte: 2 } }, order: "desc", limit: 1, count: true });
    assert.deepEqual(keysIn(first.structuredContent), ["c"]);
    assert.ok(isJsonObject(first.structuredContent) && first.structuredContent["count"] === 2);
    const { next = "" } = first.structuredContent;
    const second = await client.callTool("find_incidents", { where: { severity: { gte: 2 } }, order: "desc", limit: 1, cursor: next });
    assert.deepEqual(keysIn(second.structuredContent), ["a"]);
    const bad = await client.callTool("find_incidents", { cursor: "x" });
    assert.equal(bad.isError, true);
    const unknown = await client.callTool("find_incidents", { where: { notes: 1 } });
    assert.equal(unknown.isError, true);
  });

for (const era of ["legacy", "modern"] as const)
  test(`C8 ${era}: subscribers of an index are notified when its rows change #index.source`, async () => {
    await using server = await testServer([incident], { indexes: [all] });
    const client = server.client({ era });
    await client.subscribe("incidents://all");
    await report(server.engine, "a", 1);
    const changed = await client.notifications.first("notifications/resources/updated");
    assert.equal(changed.params?.["uri"], "incidents://all");
    client.notifications.clear();
    // A turn that changes nothing of the row.
    await server.engine.call({ to: incident.id("a"), action: "tools/note", args: {} });
    await server.clock.advance(1_000);
    assert.deepEqual(client.notifications.methods, []);
  });

test("C8 viewers see, and are notified of, the rows of an owner or of their role only #index.visible", async () => {
  const owned = board("starter");
  const mine = index(owned, { pick: ["title"], uri: "incidents://mine", tool: "mine" });
  const desk = index(owned, {
    pick: ["title"],
    uri: "incidents://desk",
    tool: "desk",
    visible: ({ viewer }) => viewer.scopes.includes("desk"),
  });
  await using server = await testServer([owned], { indexes: [mine, desk] });
  const [ann, bob] = [server.client({ principal: "ann" }), server.client({ principal: "bob", scopes: ["desk"] })];
  await bob.subscribe("incidents://mine");
  await report(server.engine, "a", 1, "ann");
  await server.clock.advance(1_000);
  assert.deepEqual(bob.notifications.methods, []);
  await report(server.engine, "b", 1, "bob");
  await bob.notifications.first("notifications/resources/updated");
  assert.deepEqual(keysIn((await ann.callTool("mine")).structuredContent), ["a"]);
  assert.deepEqual(keysIn((await bob.callTool("mine")).structuredContent), ["b"]);
  assert.deepEqual(keysIn((await bob.callTool("desk")).structuredContent), ["a", "b"]);
  assert.deepEqual(
    (await ann.listResources()).map(({ uri }) => uri),
    ["incidents://mine"],
  );
  await assert.rejects(ann.callTool("desk"), /Unknown tool|desk/u);
  await assert.rejects(ann.readResource("incidents://desk"));
});

test("C8 viewers see, and are notified of, the rows in which a member is their principal #index.visible", async () => {
  const ticket = actor("ticket", {
    description: "A ticket.",
    per: "link",
    autoStart: true,
    state: z.object({ reporter: z.string().default("") }),
    tools: {
      give: {
        description: "Give.",
        input: z.object({ to: z.string() }),
        run({ state, args }) {
          state.reporter = args.to;
        },
      },
      end: { description: "End.", run: ({ stop }) => stop("done") },
    },
  });
  const mine = index(ticket, { pick: ["reporter"], uri: "tickets://mine", tool: "mine", visible: { principal: "reporter" } });
  await using server = await testServer([ticket], { indexes: [mine] });
  const [ann, bob, anybody] = [server.client({ principal: "ann" }), server.client({ principal: "bob" }), server.client()];
  const act = (key: string, action: string, args: { readonly to?: string } = {}) =>
    server.engine.call({ to: ticket.id(key), action: `tools/${action}`, args, start: null });
  const isNotified = async (client: typeof ann): Promise<boolean> => {
    await server.clock.advance(1_000);
    const { methods } = client.notifications;
    client.notifications.clear();
    return methods.includes("notifications/resources/updated");
  };
  await bob.subscribe("tickets://mine");
  await act("a", "give", { to: "ann" });
  assert.equal(await isNotified(bob), false);
  await act("b", "give", { to: "bob" });
  assert.equal(await isNotified(bob), true);
  assert.deepEqual(keysIn((await ann.callTool("mine")).structuredContent), ["a"]);
  assert.deepEqual(keysIn((await bob.callTool("mine", { where: { reporter: "ann" } })).structuredContent), []);
  assert.deepEqual(keysIn((await anybody.callTool("mine")).structuredContent), []);
  await act("b", "give", { to: "ann" });
  assert.equal(await isNotified(bob), true);
  await act("a", "give", { to: "bob" });
  assert.equal(await isNotified(bob), true);
  await act("a", "end");
  assert.equal(await isNotified(bob), true);
  assert.deepEqual(keysIn((await bob.callTool("mine")).structuredContent), []);
  assert.deepEqual(keysIn((await ann.callTool("mine")).structuredContent), ["b"]);
});

test("the tool of an index with full text takes words, that of another does not #index.text", async () => {
  const searched = index(incident, { name: "searched", pick: ["title"], text: ["title"], tool: true });
  await using server = await testServer([incident], { indexes: [all, searched] });
  for (const title of ["Full disk", "Disk", "Other"]) await report(server.engine, title, 1);
  const client = server.client();
  assert.deepEqual(keysIn((await client.callTool("searched", { text: "disk" })).structuredContent), ["Disk", "Full disk"]);
  const phrase = await client.callTool("searched", { text: '"full disk"', where: { title: { prefix: "Full" } } });
  assert.deepEqual(keysIn(phrase.structuredContent), ["Full disk"]);
  const refused = await client.callTool("searched", { text: "d*" });
  assert.match(JSON.stringify(refused.content), /too short/u);
  assert.equal((await client.callTool("find_incidents", { text: "disk" })).isError, true);
});

test("the index of a kind per user has the row of one's own actor", async () => {
  const profile = actor("profile", {
    description: "A profile.",
    per: "user",
    state: z.object({ name: z.string().default("") }),
    tools: {
      rename: {
        description: "Rename.",
        input: z.object({ name: z.string() }),
        run({ state, args }) {
          state.name = args.name;
        },
      },
    },
  });
  const profiles = index(profile, { pick: ["name"], tool: true });
  await using server = await testServer([profile], { indexes: [profiles] });
  const [ann, bob] = [server.client({ principal: "ann" }), server.client({ principal: "bob" })];
  await ann.callTool("rename", { name: "Ann" });
  await bob.callTool("rename", { name: "Bob" });
  assert.deepEqual(keysIn((await ann.callTool("profile")).structuredContent), ["ann"]);
});

test("a cast refuses indexes that it cannot offer", async () => {
  await using engine = await LocalEngine.start({ kinds: [incident], indexes: [all], store: memoryStore() });
  const named = index(incident, { name: "other", pick: ["title"], tool: "find.incidents" });
  assert.throws(() => cast({ engine, kinds: [incident], indexes: [named], names: { separator: "__", pattern: /^[a-z_]+$/u } }), {
    code: "BAD_NAME",
  });
  const twin = index(incident, { name: "twin", pick: ["title"], tool: "find_incidents" });
  assert.throws(() => cast({ engine, kinds: [incident], indexes: [all, twin] }), { code: "NAME_COLLISION" });
});
