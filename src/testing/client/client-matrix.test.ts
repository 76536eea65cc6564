// slow: it needs a process in which nothing else is under way
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Exchange } from "../../core/contract/index.ts";
import { registry } from "../../mcp/source/index.ts";
import { clientMatrix, type Finding, testServer, type TestServer } from "../index.ts";
import { counterKind } from "./counter.fixture.ts";

const add = [{ name: "add" }];

const matrix = async (server: TestServer, calls = add): Promise<readonly Finding[]> =>
  clientMatrix((options) => server.client(options), { calls });
const of = (found: readonly Finding[], client: string): readonly string[] =>
  found.filter((one) => one.client === client).map(({ finding }) => finding);

test("actors have no findings", async () => {
  await using server = await testServer([counterKind]);
  assert.deepEqual(await matrix(server), []);
});

test("by default, each tool without required arguments is called", async () => {
  await using server = await testServer([counterKind]);
  const found = await clientMatrix((options) => server.client(options));
  assert.deepEqual(found, []);
  assert.ok(((await server.engine?.read("counter/tester"))?.messageCount ?? 0) > 100);
});

test("a tool that waits for simulated time ends each check at once", async () => {
  const buzzer = actor("buzzer", {
    description: "A buzzer.",
    initial: () => ({}),
    tools: {
      wait: {
        description: "Waits.",
        run({ later, wake, messages }) {
          wake("ring", { afterMs: 900_000, message: messages.ring() });
          return later();
        },
      },
    },
    messages: { ring: { run: () => null } },
  });
  await using server = await testServer([buzzer]);
  let calls = 0;
  const found = await clientMatrix((options) => server.client({ ...options, onCall: () => void (calls += 1) }));
  assert.equal(found.length, 5);
  for (const { finding } of found) assert.match(finding, /^It came to nothing: tools\/call wait cannot finish until simulated time passes/);
  assert.ok(calls < 100);
});

test("a client that never refreshes finds a tool that appears and disappears", async () => {
  let calls = 0;
  const source = registry({
    tools: { add: { description: "Once.", enabled: () => calls === 0, work: () => String((calls += 1)) } },
  });
  await using server = await testServer(source);
  const [finding = ""] = of(await matrix(server), "never refreshes");
  assert.match(finding, /^add answers a client that listed its tools once.* with an error no model reads \(tools\/call error: code=-32602/);
});

test("duplicate calls find tools that ignore keys", async () => {
  let calls = 0;
  await using server = await testServer(registry({ tools: { add: { description: "Counts.", work: () => String((calls += 1)) } } }));
  const found = await matrix(server);
  assert.deepEqual(found, [
    {
      client: "duplicate calls",
      finding: "add, sent three times under one Idempotency-Key, was answered differently: it ran more than once.",
    },
  ]);
});

test("finds a server that writes to a client that does not read, and one with a list per session", async () => {
  let lists = 0;
  const answer = (id: unknown, result: object): string => JSON.stringify({ jsonrpc: "2.0", id, result });
  const open = new Set<ReturnType<Exchange["stream"]>>();
  const careless = {
    exchange(exchange: Exchange) {
      if (exchange.verb === "GET") {
        open.add(exchange.stream());
        return { status: 200, open: true };
      }
      const { id, method } = JSON.parse(new TextDecoder().decode(exchange.body));
      if (id === undefined) return { status: 202 };
      if (method === "tools/list") return { status: 200, body: answer(id, { tools: [{ name: `add-${(lists += 1)}` }] }) };
      for (const channel of open) channel.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
      return { status: 200, body: answer(id, { content: [] }) };
    },
  };
  await using server = await testServer(careless);
  const found = await matrix(server);
  assert.match(of(found, "slow reader")[0] ?? "", /^\d+ messages were sent to a client that does not read/);
  assert.match(of(found, "a session per call")[0] ?? "", /list different tools/);
  assert.match(of(found, "modern without principal")[0] ?? "", /may vary by authorization only/);
});

test("an unreachable server is a finding of each check, not an error", async () => {
  await using server = await testServer({ exchange: () => ({ status: 503 }) });
  const found = await matrix(server);
  assert.deepEqual(
    found.map(({ client }) => client),
    ["never refreshes", "a session per call", "duplicate calls", "slow reader", "modern without principal"],
  );
  for (const { finding } of found) assert.match(finding, /^It came to nothing: .*503/);
});
