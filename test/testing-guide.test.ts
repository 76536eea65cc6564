// The code of the pages about testing is part of this file, which runs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { actor } from "troupe";
import { agenticServices, fromAgenticService } from "troupe/agentic";
import type { Caller } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { createServer, type ServerOptions } from "troupe/server";
import { registry } from "troupe/source";
import { memorySessionStore, memoryStore, memoryStreamStore } from "troupe/store";
import {
  assertError,
  assertHasTools,
  assertRefused,
  assertToolResult,
  callToolRequest,
  clientMatrix,
  FaultyStore,
  readTranscript,
  recordTranscript,
  remoteServer,
  replayTranscript,
  SimulatedClock,
  SimulatedEntropy,
  testServer,
  torture,
} from "troupe/testing";
import { sessionSuite, streamSuite } from "troupe/conformance";
import * as testing from "troupe/testing";
import * as z from "zod";
import { guideCalled, unformatted } from "./guide-code.ts";

const counter = actor("counter", {
  description: "Your own count.",
  per: "user",
  state: z.object({ n: z.int().default(0) }),
  tools: {
    add: { description: "Adds one.", run: ({ state }) => `${(state.n += 1)}` },
    take: { description: "Takes one.", enabled: ({ state }) => state.n > 0 || "Nothing is left.", run: ({ state }) => `${(state.n -= 1)}` },
  },
});

const safe = actor("safe", {
  description: "Stores what the tills took.",
  per: "link",
  autoStart: true,
  state: z.object({ total: z.number().default(0) }),
  messages: {
    put: {
      input: z.object({ amount: z.number() }),
      run({ state, args }) {
        state.total += args.amount;
      },
    },
  },
});
const till = actor("till", {
  description: "Takes payments and passes each on to the safe.",
  per: "link",
  state: z.object({ taken: z.number().default(0) }),
  messages: {
    pay: {
      input: z.object({ amount: z.number() }),
      run({ state, args, send }) {
        state.taken += args.amount;
        send(safe.at("shop").put(args));
      },
    },
  },
});

const makeGreeter = (options: ServerOptions = {}) => {
  const own = createServer("greeter", "1.0.0", options);
  own.tools.register({ name: "greet", description: "Says hello." }, () => "Hello.");
  return own;
};

/** Imported names by module; a file has one list per module. */
const imported = (text: string): readonly string[] =>
  Array.from(text.matchAll(/import \{([^}]+)\} from "(.+)";/g)).flatMap(([, names = "", from = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "")
      .map((name) => `${name} from ${from}`),
  );

test("all code in the pages about testing is in this file", () => {
  const page = ["testing.md", "testing-clients.md", "testing-failures.md"].map(guideCalled).join("\n");
  const whole = readFileSync(import.meta.filename, "utf8");

  const ownNames = new Set(imported(whole));
  const own = unformatted(whole);
  const blocks = Array.from(page.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, text = ""]) => text);
  assert.ok(blocks.length > 4);
  for (const block of blocks) {
    for (const name of imported(block)) assert.ok(ownNames.has(name), name);
    const rest = block.replaceAll(/^import [^;]*;$/gm, "");
    assert.ok(own.includes(unformatted(rest)), rest);
  }
});

test("the guide's client", async () => {
  await using server = await testServer([counter]);
  const ada = server.client({ principal: "ada" });
  assertToolResult(await ada.tools.add(), "1");
  assertToolResult(await ada.tools.add(), "2");
  assertToolResult(await server.client({ principal: "bob" }).tools.add(), "1");
  assertRefused(await server.client({ principal: "eve" }).tools.take(), /Nothing is left/, "NOT_NOW");

  await assert.rejects(ada.callTool("fly"), { name: "RequestError", code: -32602 });
  assertError(await ada.raw(callToolRequest(7, "fly")), -32602);
  assertHasTools(await ada.listTools(), "add");

  const careful = server.client({ answers: { elicitation: [{ action: "accept", content: { yes: true } }] } });
  const sampling = () => ({ role: "assistant", model: "m", content: { type: "text", text: "42" } });
  const trusting = server.client({ answers: { sampling } });
  for (const client of [careful, trusting]) assertHasTools(await client.listTools(), "add");
});

test("the names in the table for AppTheory's test kit exist", async () => {
  const page = guideCalled("apptheory.md");
  const [table = ""] = (page.split("\n## Tests\n")[1] ?? "").split("\n## ");
  await using server = await testServer([counter]);
  const client = server.client();
  const there = (name: string): boolean =>
    name in testing || name in server || name in client || name in server.clock || name in server.ids;
  const camel = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
  const theirs = Array.from(table.matchAll(/`((?:Assert|Initialize|List|Call|Read|Get)\w*)`/g), ([, name = ""]) => camel(name));
  const ours = Array.from(table.matchAll(/`(?:server\.clock)?(?:server\.)?([a-z]\w+)(?:\(\w*\))?`/g), ([, name = ""]) => name);
  assert.ok(theirs.length > 9 && ours.length > 9);
  const missing = [...theirs, ...ours].filter((name) => !there(name) && !["testkit", "seed", "t"].includes(name));
  assert.deepEqual(missing, []);
});

test("the guide's matrix", async () => {
  await using server = await testServer([counter]);
  const found = await clientMatrix((options) => server.client(options), { calls: [{ name: "add" }] });
  assert.deepEqual(found, []);
  const page = guideCalled("testing-clients.md");
  await using unavailable = await testServer({ exchange: () => ({ status: 503 }) });
  const rows = (await clientMatrix((options) => unavailable.client(options))).map(({ client }) => client);
  assert.equal(rows.length, 5);
  for (const row of rows) assert.ok(page.includes(`\n| \`${row}\` |`), row);
});

test("the guide's server that runs elsewhere", async () => {
  await using server = makeGreeter();
  const { http } = await server.listen({ http: { port: 0 } });
  const { url } = http;
  const headers = ({ principal }: Caller) => ({ authorization: `Bearer ${principal ?? "nobody"}` });
  await using elsewhere = await testServer(remoteServer(url, { headers }));
  assert.deepEqual(await clientMatrix((options) => elsewhere.client(options), { calls: [{ name: "greet" }] }), []);
});

test("the guide's failing store", async () => {
  let failures = 1;
  const clock = new SimulatedClock();
  const store = new FaultyStore(memoryStore({ clock }), (place) => (place === "before commit" && failures-- > 0 ? "fail" : "pass"));
  await using engine = await LocalEngine.start({ kinds: [till, safe], store, clock, entropy: new SimulatedEntropy(1) });
  const payment = { ...till.at("door").pay({ amount: 5 }), start: null };
  await assert.rejects(engine.call(payment), { code: "STORE_IO", applied: false });
  await engine.call(payment);
  await clock.advance(1_000);
  assert.deepEqual((await engine.read("safe/shop"))?.state, { total: 5 });
});

test("the guide's torture of its own kinds", async () => {
  const run = await torture({
    seed: 7,
    kinds: [till, safe],
    store: (clock) => memoryStore({ clock }),
    open: (options) => LocalEngine.start(options),
    workload: (op, dice) => {
      const amount = 1 + dice.under(9);
      return { op, message: { ...till.at(`${dice.under(3)}`).pay({ amount }), start: null } };
    },
    check: async (engine) => {
      let taken = 0;
      for (const { id } of await engine.list({ kind: "till", limit: 100 }))
        taken += z.object({ taken: z.number() }).parse((await engine.read(id))?.state).taken;
      assert.deepEqual((await engine.read("safe/shop"))?.state, { total: taken });
    },
  });
  assert.ok(run.crashes > 0 && run.acknowledged > 0);
});

test("the guide's transcript", async () => {
  await using server = await testServer([counter]);
  const transcript = await recordTranscript(server, { name: "adding" }, async (client) => {
    assertToolResult(await client.callTool("add"), /\d/);
  });
  await using next = await testServer([counter]);
  const loaded = readTranscript(JSON.parse(JSON.stringify(transcript)));
  assert.deepEqual(await replayTranscript(next, loaded), []);
});

test("the guide's server is deterministic, including its ids", async () => {
  const ids: (string | undefined)[] = [];
  for (const _run of [1, 2]) {
    await using greeter = await testServer(makeGreeter);
    greeter.ids.queue("first-session");
    const visitor = greeter.client();
    assertToolResult(await visitor.callTool("greet"), "Hello.");
    assert.equal(visitor.sessionId, "first-session");
    const client = greeter.client();
    await client.initialize();
    ids.push(client.sessionId);
  }
  assert.ok(ids[0]);
  assert.equal(ids[0], ids[1]);
});

test("each way to a test server", async () => {
  const source = registry({ tools: { knock: { description: "Knocks.", work: () => "Who is there?" } } });
  const info = { name: "own", version: "1.0.0" };
  const service = agenticServices({});
  await using gateway = createGateway({ source, info });
  for (const served of [source, gateway, service, fromAgenticService(service)]) {
    await using server = await testServer(served);
    assert.ok((await server.client({ era: "modern" }).initialize())["capabilities"]);
  }
  await using server = await testServer((wires) => createGateway({ source, info, ...wires }));
  assertHasTools(await server.client().listTools(), "knock");
});

test("the guide's notifications", async () => {
  const source = registry({ tools: { knock: { description: "Knocks.", work: () => "Who is there?" } } });
  await using server = await testServer(source);
  const client = server.client();
  await client.listTools();
  source.add({ tools: { enter: { description: "Goes in.", work: () => "Welcome." } } });
  await client.notifications.first("notifications/tools/list_changed");
  assertHasTools(await client.listTools(), "knock", "enter");
});

sessionSuite("my session store", {
  durable: false,
  place: () => ({ open: () => memorySessionStore(), [Symbol.dispose]: () => undefined }),
});
streamSuite("my stream store", () => ({ open: (bounds) => memoryStreamStore(bounds), [Symbol.dispose]: () => undefined }));
