// The clients of the matrix on whatever can be served: a server, actors, a service, a whole world; and each finding, made by a server that errs so.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { registry } from "troupe/source";
import {
  clientMatrix,
  type Exchanging,
  type Finding,
  type MatrixCall,
  type TestExchange,
  testServer,
  type TestServer,
} from "troupe/testing";
import { startMud } from "../mud-server.ts";
import { master } from "./errands.ts";
import { lamp } from "./lamp.ts";

const matrix = (server: TestServer, calls?: readonly MatrixCall[]): Promise<readonly Finding[]> =>
  clientMatrix((options) => server.client(options), calls === undefined ? {} : { calls });

const findings = (found: readonly Finding[]): readonly (readonly [string, string])[] =>
  found.map(({ client, finding }) => [client, finding]);

describe("the client matrix finds nothing", () => {
  test("on a server whose tools give the same for the same call", async () => {
    await using server = await testServer((wires) => {
      const own = createServer("own", "1.0.0", wires);
      own.tools.register({ name: "greet" }, () => "Hello.");
      own.tools.register({ name: "steps" }, ({ emit }) => {
        for (let step = 0; step < 100; step += 1) emit({ step });
        return "done";
      });
      return own;
    });
    assert.deepEqual(await matrix(server), []);
  });

  test("on actors", async () => {
    await using server = await testServer([master]);
    assert.deepEqual(await matrix(server, [{ name: "dig" }]), []);
  });

  test("on a service", async () => {
    await using server = await testServer(lamp());
    assert.deepEqual(await matrix(server, [{ name: "turn" }]), []);
  });

  test("on the world of the MUD", async () => {
    await using house = await startMud({ gateway: { rateLimit: false } });
    await using server = await testServer(house.gateway);
    assert.deepEqual(await matrix(server, [{ name: "look" }, { name: "move", args: { direction: "north" } }]), []);
  });
});

describe("the client matrix finds, where a server errs so,", () => {
  test("a tool that is no more, told by an error no model reads", async () => {
    let calls = 0;
    await using server = await testServer(registry({ tools: { once: { enabled: () => calls === 0, work: () => String((calls += 1)) } } }));
    const [[client, finding] = []] = findings(await matrix(server, [{ name: "once" }]));
    assert.equal(client, "never refreshes");
    assert.match(
      finding ?? "",
      /^once answers a client that listed its tools once, long ago, with an error no model reads .+: give a result with isError/,
    );
  });

  test("a tool that is there only after its list was asked for, session by session", async () => {
    const listed = new Set<string>();
    let sessions = 0;
    const server = bad((method, { session }) => {
      if (method === "initialize") return { result: {}, session: `s${(sessions += 1)}` };
      if (method === "tools/list") listed.add(session);
      return method === "tools/call" && !listed.has(session) ? { error: { code: -32602, message: "Unknown tool" } } : OPEN;
    });
    await using served = await testServer(server);
    const found = findings(await matrix(served, [{ name: "open" }]));
    assert.deepEqual(
      found.filter(([client]) => client === "a session per call").map(([, finding]) => finding),
      [
        "open answers in a session of its own with an error no model reads (tools/call error: code=-32602 message=Unknown tool): give a result with isError that says what to do instead.",
      ],
    );
  });

  test("a call under one key that ran more than once", async () => {
    let calls = 0;
    await using server = await testServer((wires) => {
      const own = createServer("own", "1.0.0", wires);
      own.tools.register({ name: "pay" }, () => `paid ${(calls += 1)} times`);
      return own;
    });
    assert.deepEqual(findings(await matrix(server)), [
      ["duplicate calls", "pay, sent three times under one Idempotency-Key, was answered differently: it ran more than once."],
    ]);
  });

  test("a list that changes for clients nobody can tell apart", async () => {
    let shut = false;
    await using served = await testServer(
      bad((method, { modern }) => {
        if (modern && method === "tools/call") shut = true;
        return shut ? { result: { tools: [{ name: "closed" }], content: [] } } : OPEN;
      }),
    );
    assert.deepEqual(findings(await matrix(served, [{ name: "open" }])), [["modern without principal", VARIES]]);
  });

  test("a service whose words change with its state", async () => {
    await using served = await testServer(lamp((on) => (on ? "Turns it off." : "Turns it on.")));
    assert.deepEqual(findings(await matrix(served, [{ name: "turn" }])), [["modern without principal", VARIES]]);
  });

  test("a stream that is written to though nobody reads it", async () => {
    const open = new Set<ReturnType<TestExchange["stream"]>>();
    const tell = (): void => {
      for (const channel of open) channel.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
    };
    const server = bad((method) => {
      if (method === "tools/call") tell();
      return OPEN;
    });
    await using served = await testServer({
      exchange(exchange) {
        if (exchange.verb !== "GET") return server.exchange(exchange);
        open.add(exchange.stream());
        return { status: 200, open: true };
      },
    });
    const found = findings(await matrix(served, [{ name: "open" }]));
    assert.deepEqual(
      found.map(([client]) => client),
      ["slow reader"],
    );
    assert.match(found[0]?.[1] ?? "", /^\d{3} messages were sent to a client that does not read: remember that something changed/);
  });
});

const VARIES =
  "The list that modern clients without a principal see changed with a call of one of them: it may vary by authorization only.";
const OPEN: Said = { result: { tools: [{ name: "open" }], content: [] } };

interface Said {
  readonly result?: object;
  readonly error?: object;
  readonly session?: string;
}

/** A server that answers each request so, whatever it ought to. */
function bad(answer: (method: unknown, of: { readonly session: string; readonly modern: boolean }) => Said): Pick<Exchanging, "exchange"> {
  return {
    exchange(exchange) {
      const { verb, body } = exchange;
      if (verb !== "POST") return { status: 405 };
      const { id, method } = JSON.parse(new TextDecoder().decode(body));
      if (id === undefined) return { status: 202 };
      const modern = exchange.header("mcp-protocol-version") === "2026-07-28";
      const { session, ...said } = answer(method, { session: exchange.header("mcp-session-id") ?? "", modern });
      const headers = session === undefined ? {} : { "mcp-session-id": session };
      return { status: 200, headers, body: JSON.stringify({ jsonrpc: "2.0", id, ...said }) };
    },
  };
}
