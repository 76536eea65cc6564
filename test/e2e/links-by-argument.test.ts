// Links by argument over HTTP, in both eras: two windows of one user act on different incidents, and no call reaches the wrong one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serveActors } from "../../src/mcp/server/index.ts";
import { hashApiKey } from "../../src/mcp/transport/index.ts";
import { assertRefused, remoteServer, TestClient, type TestEra, toolText, until } from "../../src/testing/index.ts";
import { incident, responder } from "../guide/links-by-argument.fixture.ts";

const KEYS = ["INC-1", "INC-2", "INC-3"];

/** Serves responders over HTTP. Each client is a window of one user. */
async function serve() {
  const keys = ["ann", "bob"].map((name) => ({ name, sha256: hashApiKey(`key-of-${name}`) }));
  const served = await serveActors({ kinds: [responder, incident], http: { port: 0 }, auth: { keys } });
  const exchange = remoteServer(served.url, { headers: ({ principal = "" }) => ({ authorization: `Bearer key-of-${principal}` }) });
  const open: TestClient[] = [];
  const client = (era: TestEra, principal = "ann"): TestClient => {
    const one = new TestClient(exchange, { era, principal });
    open.push(one);
    return one;
  };
  const close = async (): Promise<void> => {
    for (const one of open) await one.close();
    await served.close();
  };
  return { client, engine: served.engine, [Symbol.asyncDispose]: close };
}

const stateIn = async (client: TestClient, key: string): Promise<unknown> => {
  const { contents } = await client.readResource(`incident://${key}/state`);
  const text = contents[0]?.["text"];
  assert.ok(typeof text === "string");
  return JSON.parse(text);
};

for (const era of ["legacy", "modern"] as const) {
  test(`a link by argument offers tools, resources and completion of many actors (${era})`, async () => {
    await using served = await serve();
    const client = served.client(era);
    for (const id of KEYS) await client.callTool("report", { id });
    const comment = (await client.listTools()).find(({ name }) => name === "incident__comment");
    const { properties, required } = Object(comment?.["inputSchema"]);
    assert.deepEqual(required, ["incident", "text"]);
    assert.deepEqual(properties.incident.enum, era === "legacy" ? KEYS : undefined);
    assert.deepEqual(
      (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate),
      ["incident://{incident}/state"],
    );
    assert.deepEqual(await client.complete({ uri: "incident://{incident}/state" }, "incident", "inc-"), KEYS);
    assert.equal(toolText(await client.callTool("incident__comment", { incident: "INC-2", text: "x" })), '{"notes":1}');
    assert.deepEqual(await stateIn(client, "INC-2"), { status: "open", notes: ["x"] });
    assert.deepEqual(await stateIn(client, "INC-1"), { status: "open", notes: [] });
    await client.callTool("incident__acknowledge", { incident: "INC-1" });
    assertRefused(await client.callTool("incident__acknowledge", { incident: "INC-1" }), /acknowledged already/, "NOT_NOW");
    assertRefused(await client.callTool("incident__comment", { incident: "INC-9", text: "x" }), /must be one of "INC-1"/, "INVALID");
    assertRefused(await client.callTool("incident__comment", { text: "x" }), /incident/, "INVALID");
    await assert.rejects(client.readResource("incident://INC-9/state"), { message: /Resource not found/ });
    const other = served.client(era, "bob");
    await assert.rejects(other.readResource("incident://INC-1/state"), { message: /Resource not found/ });
    assertRefused(await other.callTool("incident__comment", { incident: "INC-1", text: "x" }), /nothing to choose from/, "INVALID");
    await client.callTool("sign_off");
    assertRefused(await client.callTool("incident__comment", { incident: "INC-1", text: "x" }), /You are off duty/, "NOT_NOW");
  });

  test(`C8 a subscription to one of many actors is notified of changes to that one only (${era})`, async () => {
    await using served = await serve();
    const writer = served.client(era);
    for (const id of KEYS) await writer.callTool("report", { id });
    const reader = served.client(era);
    for (const key of KEYS.slice(0, 2)) await reader.subscribe(`incident://${key}/state`);
    const updated = (): readonly unknown[] =>
      reader.notifications.all.filter(({ method }) => method === "notifications/resources/updated").map(({ params }) => params["uri"]);
    for (const incidentKey of ["INC-3", "INC-2", "INC-3"]) await writer.callTool("incident__comment", { incident: incidentKey, text: "x" });
    await until("the reader is notified", () => updated().length > 0);
    await writer.callTool("incident__comment", { incident: "INC-1", text: "x" });
    await until("the reader is notified again", () => updated().length > 1);
    assert.deepEqual(updated(), ["incident://INC-2/state", "incident://INC-1/state"]);
  });

  test(`two windows of one user act on different incidents, and each call reaches the one it names (${era})`, async () => {
    await using served = await serve();
    const windows = [served.client(era), served.client(era)] as const;
    for (const id of KEYS) await windows[0].callTool("report", { id });
    const sent = new Map<string, string[]>(KEYS.map((key) => [key, []]));
    const steps = async (client: TestClient, window: number): Promise<void> => {
      for (let step = 0; step < 500; step += 1) {
        // The first window acts on all incidents in turn, the second on one, and their calls interleave.
        const key = KEYS[window === 0 ? step % KEYS.length : 1] ?? "";
        const text = `${window}.${step}`;
        sent.get(key)?.push(text);
        const reply = await client.callTool("incident__comment", { incident: key, text });
        assert.match(toolText(reply), /^\{"notes":\d+\}$/);
      }
    };
    await Promise.all(windows.map(steps));
    for (const [key, texts] of sent) {
      const { notes } = Object(await stateIn(windows[0], key));
      assert.deepEqual(notes.toSorted(), texts.toSorted(), key);
      const ofFirst = (list: readonly string[]): readonly string[] => list.filter((text) => text.startsWith("0."));
      assert.deepEqual(ofFirst(notes), ofFirst(texts), "in the order of the window");
    }
  });
}
