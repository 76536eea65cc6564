import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer, JsonObject, Caller } from "../../../core/contract/index.ts";
import { registry } from "../../source/index.ts";
import { bodyOf, exchangeOf, gatewayOf, sessionsDouble, streamsDouble, type World, world } from "../kit.fixture.ts";
import type { GatewayOptions } from "../options.ts";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const SESSION = "mcp-session-id";
const FOREIGN = "agentcore-session-0123456789";
const ADA: Caller = { principal: "ada", scopes: [] };
const BOB: Caller = { principal: "bob", scopes: [] };

type Served = ReturnType<typeof gatewayOf>;
type How = NonNullable<GatewayOptions["unknownSession"]>;

const initialize: JsonObject = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: { roots: {} } },
};
const ping: JsonObject = { jsonrpc: "2.0", id: 2, method: "ping" };
const who: JsonObject = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "who" } };

async function send(
  to: Served,
  body: unknown,
  session: string | undefined,
  caller: Caller = ADA,
  verb: "POST" | "DELETE" = "POST",
): Promise<Answer> {
  return to.exchange(exchangeOf(verb, session === undefined ? HEADERS : { ...HEADERS, [SESSION]: session }, body, caller).exchange);
}

const served = (unknownSession: How | undefined, more: Partial<GatewayOptions> = {}, made: World = world()): Served =>
  gatewayOf(made.source, { ...(unknownSession === undefined ? undefined : { unknownSession }), ...more });

describe("a POST whose session is unknown", () => {
  test("is answered 404 by default, and 400 if it names none", async () => {
    await using strict = served(undefined);
    assert.deepEqual([(await send(strict, ping, FOREIGN)).status, (await send(strict, ping, undefined)).status], [404, 400]);
    await using apptheory = served("reject", { profile: "apptheory" });
    assert.equal((await send(apptheory, ping, FOREIGN)).status, 404);
    await using third = served(undefined, { profile: "apptheory-v3" });
    const answer = await send(third, ping, FOREIGN);
    assert.deepEqual([answer.status, bodyOf(answer)], [404, { error: "session not found" }]);
  });

  test("begins a session under a new id with reissue, whether or not it names one", async () => {
    const sessions = sessionsDouble();
    await using gateway = served(undefined, { profile: "apptheory", sessions });
    const ids = await Promise.all([FOREIGN, undefined].map(async (id) => (await send(gateway, ping, id)).headers?.[SESSION] ?? ""));
    assert.deepEqual(ids.toSorted(), [...sessions.rows.keys()].toSorted());
    assert.equal(new Set(ids).size, 2);
    assert.ok(!ids.includes(FOREIGN));
    assert.equal((await send(gateway, ping, ids[0])).headers?.[SESSION], ids[0]);
    assert.equal(sessions.rows.size, 2);
  });

  test("begins one session under the client's id with adopt, also for concurrent requests", async () => {
    const sessions = sessionsDouble();
    await using gateway = served("adopt", { sessions });
    const answers = await Promise.all([1, 2, 3].map(async (id) => send(gateway, { ...ping, id }, FOREIGN)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal(sessions.rows.size, 1);
    // An id that is not a valid header value, or is too long, is unknown.
    assert.equal((await send(gateway, ping, "a".repeat(200))).status, 404);
    assert.equal((await send(gateway, ping, undefined)).status, 400);
    assert.equal((await send(gateway, undefined, FOREIGN, ADA, "DELETE")).status, 204);
    assert.equal(sessions.rows.size, 0);
  });

  test("an adopted and a reissued session both outlive their process", async () => {
    const [sessions, streams] = [sessionsDouble(), streamsDouble()];
    await using first = served("adopt", { sessions, streams });
    await send(first, ping, FOREIGN);
    const issued = (await send(first, initialize, undefined)).headers?.[SESSION];
    await using second = served("adopt", { sessions, streams });
    assert.deepEqual([(await send(second, ping, FOREIGN)).status, (await send(second, ping, issued)).status], [200, 200]);
    assert.equal(sessions.rows.size, 2);
  });

  test("is unknown to a DELETE under every policy", async () => {
    for (const how of ["reject", "reissue", "adopt"] as const) {
      const sessions = sessionsDouble();
      await using gateway = served(how, { sessions });
      assert.equal((await send(gateway, undefined, FOREIGN, ADA, "DELETE")).status, 404, how);
      assert.equal(sessions.rows.size, 0);
    }
  });
});

describe("initialize that names a session", () => {
  test("is refused with reject, and keeps the name with adopt", async () => {
    await using strict = served("reject");
    assert.equal((await send(strict, initialize, FOREIGN)).status, 400);
    const sessions = sessionsDouble();
    await using gateway = served("adopt", { sessions });
    await send(gateway, ping, FOREIGN);
    for (const _again of [1, 2]) {
      const answer = await send(gateway, initialize, FOREIGN);
      assert.deepEqual([answer.status, answer.headers?.[SESSION]], [200, FOREIGN]);
      assert.deepEqual(
        [...sessions.rows.values()].map(({ capabilities }) => capabilities),
        [{ roots: {} }],
      );
    }
  });

  test("begins the caller's own session again with reissue, but not another's", async () => {
    const sessions = sessionsDouble();
    await using gateway = served("reissue", { sessions });
    const id = (await send(gateway, initialize, undefined)).headers?.[SESSION];
    assert.equal((await send(gateway, initialize, id)).headers?.[SESSION], id);
    const other = (await send(gateway, initialize, id, BOB)).headers?.[SESSION];
    assert.notEqual(other, id);
    assert.deepEqual(
      [...sessions.rows.values()].map(({ principal }) => principal),
      ["ada", "bob"],
    );
  });
});

describe("a session belongs to its principal", () => {
  const source = (): GatewayOptions["source"] => registry({ tools: { who: { work: ({ viewer }) => viewer.principal ?? null } } });
  const resultOf = (answer: Answer): unknown => JSON.stringify(bodyOf(answer)["result"] ?? null);

  for (const how of ["reject", "reissue", "adopt"] as const)
    test(`another principal that knows its id does not get it, with ${how}`, async () => {
      const sessions = sessionsDouble();
      await using gateway = gatewayOf(source(), { unknownSession: how, sessions });
      const issued = (await send(gateway, initialize, undefined)).headers?.[SESSION] ?? "";
      const before = sessions.rows.get(issued);
      const answer = await send(gateway, who, issued, BOB);
      if (how === "reject") assert.equal(answer.status, 404);
      else assert.match(String(resultOf(answer)), /bob/);
      assert.deepEqual(sessions.rows.get(issued), before);
      assert.match(String(resultOf(await send(gateway, who, issued))), /ada/);
      assert.equal((await send(gateway, undefined, issued, { scopes: [] }, "DELETE")).status, 404);
      assert.equal(sessions.rows.get(issued)?.principal, "ada");
    });

  test("an id adopted by two clients is two sessions, and the stored id gives no access", async () => {
    const sessions = sessionsDouble();
    await using gateway = gatewayOf(source(), { unknownSession: "adopt", sessions });
    await Promise.all([send(gateway, who, FOREIGN, ADA), send(gateway, who, FOREIGN, BOB), send(gateway, who, FOREIGN, { scopes: [] })]);
    assert.deepEqual(new Set(Array.from(sessions.rows.values(), ({ principal }) => principal)), new Set(["ada", "bob", undefined]));
    assert.equal(sessions.rows.size, 3);
    const before = new Map(sessions.rows);
    for (const [inside, row] of before) {
      const other = row.principal === "ada" ? BOB : ADA;
      await send(gateway, who, inside, other);
      assert.equal(sessions.rows.get(inside), row);
    }
    assert.equal((await send(gateway, undefined, FOREIGN, BOB, "DELETE")).status, 204);
    assert.match(String(resultOf(await send(gateway, who, FOREIGN, ADA))), /ada/);
  });
});

test("a client that invents sessions is limited by its rate", async () => {
  const sessions = sessionsDouble();
  await using gateway = served("adopt", { sessions, rateLimit: { perSecond: 1, burst: 12 } });
  const answers = await Promise.all(Array.from({ length: 40 }, async (_, at) => send(gateway, ping, `made-up-${at}`)));
  assert.ok(answers.some(({ status }) => status === 429));
  assert.ok(sessions.rows.size <= 12, String(sessions.rows.size));
});
