// The gateway over real actors: which clients are notified of what, and when.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, blob, content, elicit, refuse, roots, sample } from "../../core/actor/index.ts";
import type { JsonObject, Gateway } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { cast } from "../source/index.ts";
import { channelDouble, ENVELOPE, gatewayOf, quiet, type ReadChannel, until } from "./kit.fixture.ts";

const chest = actor("chest", {
  description: "A chest of one's own.",
  per: "user",
  persistence: "memory",
  initial: () => ({ open: false, turns: 0 }),
  tools: {
    open: {
      description: "Open it.",
      enabled: ({ state }) => !state.open || "It is open.",
      run({ state }) {
        state.open = true;
        state.turns += 1;
        return "Open.";
      },
    },
    close: {
      description: "Close it.",
      enabled: ({ state }) => state.open,
      run({ state }) {
        state.open = false;
        state.turns += 1;
        return "Shut.";
      },
    },
  },
  resources: { state: { uri: "chest://state", view: ({ state }) => ({ turns: state.turns }) } },
});

const counter = actor("counter", {
  description: "One counter for all.",
  per: "shared",
  persistence: "memory",
  initial: () => ({ count: 0 }),
  tools: {
    increment: {
      description: "Adds one.",
      run({ state }) {
        state.count += 1;
        return state.count;
      },
    },
  },
  resources: { counter: { uri: "counter://state", view: ({ state }) => state } },
});

interface Wire {
  readonly channel: ReadChannel;
  readonly notify: (method: string) => void;
  readonly ask: (method: string, params?: JsonObject) => Promise<JsonObject>;
  readonly call: (name: string) => Promise<JsonObject>;
}

function join(gateway: Gateway, principal: string, meta?: JsonObject): Wire {
  const channel = channelDouble();
  const connection = gateway.connect(channel, { principal, scopes: [] });
  let last = 0;
  const ask = async (method: string, params: JsonObject = {}): Promise<JsonObject> => {
    last += 1;
    const id = last;
    connection.receive(JSON.stringify({ jsonrpc: "2.0", id, method, params: meta === undefined ? params : { ...params, _meta: meta } }));
    const find = (): JsonObject | undefined => channel.messages.find((message) => message["id"] === id);
    await until(() => find() !== undefined);
    return find() ?? {};
  };
  return {
    channel,
    ask,
    notify: (method) => connection.receive(JSON.stringify({ jsonrpc: "2.0", method })),
    call: (name) => ask("tools/call", { name, arguments: {} }),
  };
}

async function legacy(gateway: Gateway, principal: string): Promise<Wire> {
  const wire = join(gateway, principal);
  await wire.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
  wire.notify("notifications/initialized");
  await wire.ask("tools/list");
  for (const uri of ["chest://state", "counter://state"]) assert.ok("result" in (await wire.ask("resources/subscribe", { uri })));
  return wire;
}

const received = (wire: Wire, from = 0): readonly unknown[] =>
  wire.channel.messages.slice(from).map((message) => {
    const { uri } = Object(message["params"]);
    return uri ?? message["method"] ?? message["id"];
  });

const increment = (wire: Wire, key: string): Promise<JsonObject> =>
  wire.ask("tools/call", { name: "increment", arguments: {}, _meta: { ...ENVELOPE, "troupe/callId": key } });

test("C8 a viewer is notified of its own actor and of shared ones, before its reply #spec.6.privacy.consent", async () => {
  const engine = await LocalEngine.start({ kinds: [chest, counter] });
  await using gateway = gatewayOf(cast({ engine, kinds: [chest, counter] }));
  const ann = await legacy(gateway, "ann");
  const bob = await legacy(gateway, "bob");
  for (let round = 0; round < 50; round += 1) {
    const [annFrom, bobFrom] = [ann.channel.messages.length, bob.channel.messages.length];
    const reply = await ann.call(round % 2 === 0 ? "open" : "close");
    const seen = received(ann, annFrom);
    assert.deepEqual(new Set(seen), new Set(["notifications/tools/list_changed", "chest://state", reply["id"]]));
    assert.equal(seen.length, 3);
    assert.equal(seen.at(-1), reply["id"]);
    await quiet();
    assert.deepEqual(received(ann, annFrom), seen);
    assert.deepEqual(received(bob, bobFrom), []);
  }
  const from = ann.channel.messages.length;
  const incremented = await bob.call("increment");
  assert.deepEqual(incremented["result"], { content: [{ type: "text", text: "1" }] });
  await until(() => ann.channel.messages.length > from);
  await quiet();
  assert.deepEqual(received(ann, from), ["counter://state"]);
  const refused = await ann.call("close");
  assert.deepEqual(Object(refused["error"])["code"], -32602, "hidden without a reason: there is no such tool");
  await engine[Symbol.asyncDispose]();
});

test("law 3: a call from a stale list is decided in the turn #spec.6.control", async () => {
  const engine = await LocalEngine.start({ kinds: [chest, counter] });
  await using gateway = gatewayOf(cast({ engine, kinds: [chest, counter] }));
  const ann = join(gateway, "ann", ENVELOPE);
  const list = async (): Promise<unknown> =>
    JSON.parse(JSON.stringify((await ann.ask("tools/list"))["result"]))
      .tools.map(Object)
      .map(({ name }: { name: string }) => name);
  assert.deepEqual(await list(), ["open", "increment"]);
  const opened = await ann.call("open");
  assert.equal(Object(opened["result"])["resultType"], "complete");
  assert.deepEqual(await list(), ["open", "close", "increment"], "off with a reason stays listed, what was hidden joins");
  const again = await ann.call("open");
  assert.match(JSON.stringify(again["result"]), /"It is open\."/);
  assert.deepEqual(Object(Object(Object(again["result"])["_meta"])["troupe/refused"])["code"], "NOT_NOW");
  await ann.call("close");
  const hidden = await ann.call("close");
  const unknown = await ann.call("never-was");
  assert.deepEqual([Object(hidden["error"])["code"], Object(hidden["error"])["message"]], [-32602, "Unknown tool: close"]);
  assert.deepEqual([Object(unknown["error"])["code"], Object(unknown["error"])["message"]], [-32602, "Unknown tool: never-was"]);
  await engine[Symbol.asyncDispose]();
});

test("C4 a repeated call with a key gets its first reply, over any connection", async () => {
  const engine = await LocalEngine.start({ kinds: [chest, counter] });
  await using gateway = gatewayOf(cast({ engine, kinds: [chest, counter] }), { receipts: true });
  const [one, two, bob] = [join(gateway, "ann"), join(gateway, "ann"), join(gateway, "bob")];
  const first = Object((await increment(one, "k"))["result"]);
  assert.deepEqual(Object(first["_meta"]["troupe/receipt"])["actor"], "counter/main");
  assert.deepEqual(first["content"], [{ type: "text", text: "1" }]);
  assert.deepEqual(Object((await increment(two, "k"))["result"])["content"], [{ type: "text", text: "1" }]);
  assert.deepEqual(Object((await increment(bob, "k"))["result"])["content"], [{ type: "text", text: "2" }]);
  await engine[Symbol.asyncDispose]();
});

test("a client that cannot answer questions learns every missing capability", async () => {
  const asker = actor("asker", {
    description: "Asks.",
    per: "shared",
    persistence: "memory",
    initial: () => ({}),
    tools: {
      think: {
        description: "Asks two things.",
        run: ({ ask }) => Object.keys(ask({ thought: sample({ messages: [], maxTokens: 5 }), where: roots() })).join(),
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [asker] });
  await using gateway = gatewayOf(cast({ engine, kinds: [asker] }));
  const answer = async (revision: string): Promise<JsonObject> => {
    const channel = channelDouble();
    const connection = gateway.connect(channel, { principal: "ann", scopes: [] });
    const send = (message: object): void => connection.receive(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const modern = revision === "2026-07-28";
    const clientInfo = { name: "t", version: "1" };
    if (!modern) send({ id: 0, method: "initialize", params: { protocolVersion: revision, capabilities: {}, clientInfo } });
    send({ id: 1, method: "tools/call", params: { name: "think", ...(modern ? { _meta: ENVELOPE } : undefined) } });
    await until(() => channel.messages.some(({ id }) => id === 1));
    return channel.messages.find(({ id }) => id === 1) ?? {};
  };
  const old = Object((await answer("2025-11-25"))["result"]);
  assert.deepEqual([old["isError"], old["_meta"]["troupe/refused"]["code"]], [true, "CAPABILITY"]);
  assert.match(old["content"][0]["text"], /sampling, roots/);
  const error = Object((await answer("2026-07-28"))["error"]);
  assert.deepEqual([error["code"], error["data"]], [-32021, { requiredCapabilities: { sampling: {}, roots: {} } }]);
});

test("a question that another actor raises is not blamed on a client that can answer questions", async () => {
  const asker = actor("asker", {
    description: "Asks.",
    per: "shared",
    persistence: "memory",
    initial: () => ({}),
    messages: { think: { run: ({ ask }) => Object.keys(ask({ sure: elicit("Sure?") })).join() } },
  });
  const clerk = actor("clerk", {
    description: "Lets another actor ask.",
    per: "shared",
    persistence: "memory",
    initial: () => ({}),
    tools: {
      think: {
        description: "Calls it.",
        async work({ call }) {
          const reply = await call(asker.at("main").think({}));
          return "refused" in reply ? refuse(reply.refused.message, { code: reply.refused.code }) : "thought";
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [asker, clerk] });
  await using gateway = gatewayOf(cast({ engine, kinds: [asker, clerk] }));
  const can = { ...ENVELOPE, "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const result = Object((await join(gateway, "ann", can).call("think"))["result"]);
  assert.deepEqual([result["isError"], result["_meta"]["troupe/refused"]["code"]], [true, "CANNOT_ASK"]);
  assert.match(
    result["content"][0]["text"],
    /^asker\/main must ask the client something \(elicitation\), and a message from clerk\/main cannot/,
  );
});

test("a misspelt argument is named in the refusal, also by a library's validator", async () => {
  const desk = actor("desk", {
    description: "A desk.",
    per: "shared",
    persistence: "memory",
    initial: () => ({}),
    tools: { report: { description: "Reports.", input: z.object({ title: z.string() }), run: ({ args }) => args.title } },
  });
  await using engine = await LocalEngine.start({ kinds: [desk] });
  await using gateway = gatewayOf(cast({ engine, kinds: [desk] }));
  const answer = await join(gateway, "ann", ENVELOPE).ask("tools/call", { name: "report", arguments: { titel: "x" } });
  const result = Object(answer["result"]);
  assert.equal(result["isError"], true);
  assert.match(result["content"][0]["text"], /title.* This tool has no argument "titel" \(did you mean "title"\?\)\.$/);
});

test("a record whose caller chose the mark of content as a name is data", async () => {
  const board = actor("board", {
    description: "A board for all.",
    per: "shared",
    persistence: "memory",
    initial: (): { notes: Record<string, string>; tags: Record<string, string[]> } => ({ notes: {}, tags: {} }),
    tools: {
      note: {
        description: "Note.",
        input: z.object({ name: z.string() }),
        run({ state, args }) {
          state.notes[args.name] = "AAAA";
          state.tags[args.name] = ["AAAA"];
        },
      },
      tags: { description: "Tags.", view: ({ state }) => state.tags },
      checked: { description: "Tags.", output: z.record(z.string(), z.array(z.string())), view: ({ state }) => state.tags },
      summary: { description: "A summary.", view: ({ state }) => content(["Summary."], state.tags) },
    },
    resources: {
      notes: { uri: "board://notes", view: ({ state }) => state.notes },
      tags: { uri: "board://tags", view: ({ state }) => state.tags },
      bytes: { uri: "board://bytes", mimeType: "image/png", view: () => blob("AAAA") },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [board] });
  await using gateway = gatewayOf(cast({ engine, kinds: [board] }));
  const { ask } = join(gateway, "ann", ENVELOPE);
  for (const name of ["milk", "troupe/blob", "troupe/content"]) await ask("tools/call", { name: "note", arguments: { name } });
  const notes = { milk: "AAAA", "troupe/blob": "AAAA", "troupe/content": "AAAA" };
  const tags = { milk: ["AAAA"], "troupe/blob": ["AAAA"], "troupe/content": ["AAAA"] };
  const read = async (uri: string): Promise<unknown> => Object(await ask("resources/read", { uri }))["result"]["contents"][0];
  const called = async (name: string): Promise<JsonObject> => Object(await ask("tools/call", { name, arguments: {} }))["result"];
  const json = { mimeType: "application/json" };
  assert.deepEqual(await read("board://notes"), { uri: "board://notes", ...json, text: JSON.stringify(notes) });
  assert.deepEqual(await read("board://tags"), { uri: "board://tags", ...json, text: JSON.stringify(tags) });
  assert.deepEqual(await read("board://bytes"), { uri: "board://bytes", mimeType: "image/png", blob: "AAAA" });
  for (const name of ["tags", "checked", "summary"]) assert.deepEqual((await called(name))["structuredContent"], tags);
  assert.deepEqual((await called("summary"))["content"], [{ type: "text", text: "Summary." }]);
});
