import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, Json } from "../../core/contract/index.ts";
import { readPacket, RefusedPacket } from "./read-packet.ts";
import type { RequestPacket } from "./packet.ts";

const MINIMAL: JsonObject = { version: "1.0", type: "capability_request", capability_id: "sum" };

function accepted(value: Json, limits?: Parameters<typeof readPacket>[1]): RequestPacket {
  const read = readPacket(JSON.stringify(value), limits);
  if (read instanceof RefusedPacket) assert.fail(read.message);
  return read;
}

function refused(given: string | Uint8Array, limits?: Parameters<typeof readPacket>[1]): RefusedPacket {
  const read = readPacket(given, limits);
  assert.ok(read instanceof RefusedPacket, "it was accepted");
  return read;
}

const refusedValue = (value: Json, limits?: Parameters<typeof readPacket>[1]): RefusedPacket => refused(JSON.stringify(value), limits);

function paths(packet: RefusedPacket): readonly string[] {
  assert.equal(packet.type, "protocol_error");
  const { issues } = packet.details;
  assert.ok(Array.isArray(issues));
  for (const { message } of issues) assert.ok(typeof message === "string" && message !== "" && packet.message.includes(message));
  return issues.map(({ path }) => String(path));
}

describe("a packet that is read", () => {
  test("has a payload and context even if it brings none, and nothing else", () => {
    assert.deepEqual(accepted(MINIMAL), { ...MINIMAL, payload: {}, context: {} });
  });

  test("keeps its fields, and unknown members of its context", () => {
    const packet = {
      ...MINIMAL,
      type: "actor_message",
      id: "r1",
      intent: "",
      actor_id: "a/b 語",
      payload: { deep: [{ a: null }] },
      context: { user_id: "u", tenant: { id: 7 } },
      actor_options: { create_if_missing: false, state_timeout: 0.5, persistence: "disk" },
      metadata: { retries: 2 },
    };
    assert.deepEqual(accepted(packet), packet);
  });

  test("may be bytes", () => {
    assert.deepEqual(readPacket(Buffer.from(JSON.stringify({ ...MINIMAL, intent: "語" }))), accepted({ ...MINIMAL, intent: "語" }));
  });

  test("loses fields that version 1.0 does not name #packet.backward.wire", () => {
    assert.deepEqual(accepted({ ...MINIMAL, priority: 9, actor_options: { priority: 9 } }), {
      ...MINIMAL,
      payload: {},
      context: {},
      actor_options: {},
    });
  });

  test("of type heartbeat needs nothing more", () => {
    assert.equal(accepted({ version: "1.0", type: "heartbeat" }).type, "heartbeat");
  });

  test("may have fields and levels up to the limits", () => {
    accepted({
      ...MINIMAL,
      id: "é".repeat(128),
      intent: "x".repeat(4_096),
      context: { tenant: "x".repeat(16_384 - '{"tenant":""}'.length) },
    });
    const text = JSON.stringify({ ...MINIMAL, payload: { list: [[]] } });
    assert.ok(!(readPacket(text, { bytes: text.length, depth: 4 }) instanceof RefusedPacket));
  });

  test("keeps members named like inherited ones as data, and changes no object", () => {
    const text =
      '{"version":"1.0","type":"heartbeat","__proto__":{"id":"x"},"constructor":{"prototype":{"p":1}},"payload":{"__proto__":{"p":1},"toString":2},"context":{"__proto__":{"user_id":"root"},"hasOwnProperty":1},"actor_options":{"__proto__":{"persistence":"disk"}}}';
    const read = readPacket(text);
    assert.ok(!(read instanceof RefusedPacket));
    assert.equal(Reflect.get({}, "p"), undefined);
    for (const bag of [read, read.payload, read.context, read.actor_options ?? []])
      assert.equal(Object.getPrototypeOf(bag), Object.prototype);
    assert.equal(read.id, undefined);
    assert.equal(read.context.user_id, undefined);
    assert.deepEqual(read.actor_options, {});
    assert.equal(JSON.stringify(read.payload), '{"__proto__":{"p":1},"toString":2}');
  });
});

describe("a packet is refused", () => {
  test("that takes its fields from `__proto__`", () => {
    assert.deepEqual(paths(refused('{"__proto__":{"version":"1.0","type":"heartbeat"}}')), ["/version", "/type"]);
  });

  test("of another version, with the supported ones, and without checking anything else #packet.implied.2-protocol", () => {
    const error = refusedValue({ version: "2.0", type: 5, id: "r1", context: { trace_id: "t" } });
    assert.equal(error.type, "unsupported_version");
    assert.deepEqual(error.details, { supported: ["1.0"] });
    assert.deepEqual(error.echo, { id: "r1", context: { trace_id: "t" } });
  });

  test("of an unknown type, or of a server's type, with the known ones #packet.implied.2-protocol", () => {
    for (const type of ["constructor", "", "capability_response", "x".repeat(100_000)]) {
      const error = refusedValue({ ...MINIMAL, type });
      assert.equal(error.type, "unknown_type");
      assert.deepEqual(error.details, { known: ["capability_request", "actor_message", "mcp_request", "heartbeat", "cancel"] });
      assert.ok(error.message.length < 300);
    }
  });

  for (const [what, value] of Object.entries<Json>({ null: null, text: "heartbeat", number: 1, "a list": [MINIMAL], "nothing of one": {} }))
    test(`that is ${what}`, () => assert.ok(paths(refusedValue(value)).length > 0));

  test("that is in a list, with how to send several", () => {
    assert.match(refusedValue([MINIMAL]).message, /on a line/);
  });

  test("for all its issues at once, each with its path", () => {
    const error = refusedValue({
      version: 1,
      id: "",
      intent: 5,
      capability_id: null,
      actor_id: "x".repeat(257),
      payload: [],
      context: { user_id: 5, session_id: "", trace_id: {}, timestamp: null, tenant: "x".repeat(16_384) },
      actor_options: { create_if_missing: 1, state_timeout: "1", persistence: "tape" },
      metadata: "m",
    });
    assert.deepEqual(paths(error).toSorted(), [
      "/actor_id",
      "/actor_options/create_if_missing",
      "/actor_options/persistence",
      "/actor_options/state_timeout",
      "/capability_id",
      "/context",
      "/context/session_id",
      "/context/timestamp",
      "/context/trace_id",
      "/context/user_id",
      "/id",
      "/intent",
      "/metadata",
      "/payload",
      "/type",
      "/version",
    ]);
  });

  for (const [path, value] of Object.entries<JsonObject>({
    "/version": { type: "heartbeat" },
    "/type": { version: "1.0" },
    "/capability_id": { version: "1.0", type: "capability_request" },
    "/payload/mcp_message": { version: "1.0", type: "mcp_request", payload: { mcp_message: [] } },
    "/payload/id": { version: "1.0", type: "cancel", payload: { id: 5 } },
    "/id": { ...MINIMAL, id: "é".repeat(129) },
    "/intent": { ...MINIMAL, intent: "語".repeat(1_366) },
    "/context": { ...MINIMAL, context: { tenant: "x".repeat(16_384 - '{"tenant":""}'.length + 1) } },
    "/payload": { ...MINIMAL, payload: null },
    "/actor_options": { ...MINIMAL, actor_options: [] },
  }))
    test(`for ${path}`, () => assert.deepEqual(paths(refusedValue(value)), [path]));

  test("where an actor_message names no capability #packet.message.actor", () => {
    assert.deepEqual(paths(refusedValue({ version: "1.0", type: "actor_message" })), ["/capability_id"]);
  });

  test("whose type needs a payload that is missing", () => {
    assert.deepEqual(paths(refusedValue({ version: "1.0", type: "mcp_request" })), ["/payload/mcp_message"]);
    assert.deepEqual(paths(refusedValue({ version: "1.0", type: "cancel" })), ["/payload/id"]);
  });

  for (const timeout of ["0", "-1", "3155760000001", "null", '"5"'])
    test(`with a state_timeout of ${timeout} #packet.message.state-timeout`, () => {
      const text = JSON.stringify({ ...MINIMAL, actor_options: { state_timeout: "T" } }).replace('"T"', timeout);
      assert.deepEqual(paths(refused(text)), ["/actor_options/state_timeout"]);
    });
});

describe("text is refused", () => {
  const text = JSON.stringify(MINIMAL);

  test("that is longer than its limit, in bytes", () => {
    const long = JSON.stringify({ ...MINIMAL, intent: "é" });
    const bytes = Buffer.byteLength(long);
    assert.ok(!(readPacket(long, { bytes }) instanceof RefusedPacket));
    assert.deepEqual(paths(refused(long, { bytes: bytes - 1 })), [""]);
    assert.deepEqual(paths(refused(Buffer.from(long), { bytes: bytes - 1 })), [""]);
    assert.deepEqual(paths(refusedValue({ ...MINIMAL, payload: { text: "x".repeat(1_048_576) } })), [""]);
  });

  for (const [what, given] of Object.entries<string | Uint8Array>({
    empty: "",
    "not JSON": "{'version':1}",
    "two packets": `${text}\n${text}`,
    "begun by a byte order mark": `\ufeff${text}`,
    "no UTF-8": Uint8Array.of(...Buffer.from(text.slice(0, -2)), 0xff, 0x22, 0x7d),
    "UTF-8 of a surrogate": Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
    "with a lone surrogate": text.replace("sum", "\ud800"),
  }))
    test(`that is ${what}`, () => assert.deepEqual(paths(refused(given)), [""]));

  test("with an escaped lone surrogate, as member or as text, by its path", () => {
    const escaped = String.raw`\ud800`;
    assert.deepEqual(paths(refused(`{"version":"1.0","type":"heartbeat","payload":{"a/b~":["x","${escaped}"]}}`)), ["/payload/a~1b~0/1"]);
    assert.deepEqual(paths(refused(`{"version":"1.0","type":"heartbeat","payload":{"${escaped}":1}}`)), ["/payload"]);
  });

  test("with a number that no double holds, by its path", () => {
    assert.deepEqual(paths(refused('{"version":"1.0","type":"heartbeat","payload":{"n":1e999}}')), ["/payload/n"]);
  });

  test("that nests deeper than its limit", () => {
    const nested = (levels: number): string =>
      `{"version":"1.0","type":"heartbeat","payload":{"x":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
    assert.ok(!(readPacket(nested(62)) instanceof RefusedPacket));
    assert.equal(refused(nested(63)).type, "protocol_error");
    assert.equal(refused(nested(500_000)).type, "protocol_error");
  });

  test("that holds more values, or an object of more members, than the bounds allow", () => {
    const packet = (payload: string): string => `{"version":"1.0","type":"heartbeat","payload":${payload}}`;
    const members = (count: number): string => `{${Array.from({ length: count }, (_, n) => `"k${n}":0`).join(",")}}`;
    assert.ok(!(readPacket(packet(members(10_000))) instanceof RefusedPacket));
    assert.match(refused(packet(members(10_001))).message, /An object may have 10000 members/);
    assert.match(refused(packet(`{"list":[${"0,".repeat(100_000)}0]}`)).message, /A message may hold 100000 values/);
    assert.match(refused(packet(members(20)), { members: 10 }).message, /An object may have 10 members/);
    assert.match(refused(packet(members(20)), { values: 10 }).message, /A message may hold 10 values/);
  });

  test("where an integer would be rounded, by its path; one that a double holds, or is written by, is read", () => {
    const payload = (n: string): string => `{"version":"1.0","type":"heartbeat","payload":{"a":[1,{"n": ${n} }]}}`;
    for (const n of ["9007199254740993", "-9007199254740993", "1915883588174806058", "9007199254740993.0", "9".repeat(300)]) {
      const error = refused(payload(n));
      assert.deepEqual(paths(error), ["/payload/a/1/n"], n);
      assert.match(error.message, /as text/);
    }
    for (const n of [
      "9007199254740992",
      "1152921504606846976",
      JSON.stringify(2 ** 60),
      "1e300",
      "0.1234567890123456789",
      '"9007199254740993"',
    ])
      assert.ok(!(readPacket(payload(n)) instanceof RefusedPacket), n);
  });

  test("where an object names a member twice, wherever and however it is written", () => {
    for (const payload of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"a\\"":1,"b":":","a\\"":2}',
      '{"l":[{"a":{"b":0,"b":0}}]}',
      '{"__proto__":1,"__proto__":2}',
      '{"\\\\":1,"\\\\":2}',
    ])
      assert.deepEqual(paths(refused(`{"version":"1.0","type":"heartbeat","id":"r","payload":${payload}}`)), [""], payload);
  });

  test("but not for colons, quotes and backslashes in text", () => {
    for (const payload of [{ ":": ":", '"': '":":"', "\\": "\\", '\\"': ':\\":' }, { a: { a: [{ a: 1 }, { a: 1 }] } }])
      assert.deepEqual(accepted({ ...MINIMAL, payload }).payload, payload);
  });
});

describe("a refused packet repeats", () => {
  const whole = { id: "r1", intent: "why", capability_id: "sum", actor_id: "a", context: { user_id: "u", tenant: [1] } };

  test("all fields that a reply repeats, if they are valid", () => {
    assert.deepEqual(refusedValue({ ...whole, version: "1.0" }).echo, whole);
    assert.deepEqual(refusedValue({ ...whole, version: "1.0", type: "heartbeat", payload: [] }).echo, whole);
    assert.deepEqual(refusedValue({ ...whole, payload: [[[[]]]] }, { depth: 3 }).echo, whole);
  });

  test("nothing, if nothing could be read", () => {
    assert.deepEqual(refused("{").echo, { context: {} });
    assert.deepEqual(refusedValue([whole]).echo, { context: {} });
  });

  test("only valid members within their limits", () => {
    const long = "x".repeat(5_000);
    const context = { user_id: 5, session_id: long, trace_id: "t", deep: [[[[]]]], kept: { a: 1 } };
    assert.deepEqual(refusedValue({ id: 5, intent: long, capability_id: "", actor_id: long, context }, { depth: 4 }).echo, {
      context: { trace_id: "t", kept: { a: 1 } },
    });
    assert.deepEqual(refusedValue({ id: "r", context: { tenant: "x".repeat(16_384) } }).echo, { id: "r", context: {} });
  });

  test("no invalid Unicode, and no invalid number", () => {
    const escaped = String.raw`\ud800`;
    const text = `{"id":"${escaped}","intent":"i","context":{"a":"${escaped}","${escaped}":1,"trace_id":"${escaped}","n":1e999,"b":1}}`;
    assert.deepEqual(refused(text).echo, { intent: "i", context: { b: 1 } });
  });

  test("a member `__proto__` of its context as data", () => {
    const { context } = refused('{"context":{"__proto__":{"user_id":"root"}}}').echo;
    assert.equal(Object.getPrototypeOf(context), Object.prototype);
    assert.equal(JSON.stringify(context), '{"__proto__":{"user_id":"root"}}');
  });
});
