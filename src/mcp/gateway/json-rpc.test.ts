import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isJsonObject } from "../../core/contract/index.ts";
import { metaOf, isModernParams } from "./envelope.ts";
import { inexactIntegersIn, classify, decode } from "./json-rpc.ts";
import { settle } from "./options.ts";
import { world } from "./kit.fixture.ts";

const { limits } = settle({ source: world().source, info: { name: "t", version: "1" } });

test("a message may begin with one byte order mark, as text and as bytes", () => {
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  for (const frame of [`\ufeff${ping}`, Buffer.from(`\ufeff${ping}`)]) assert.equal(decode(frame, limits).kind, "request");
  for (const frame of [`\ufeff\ufeff${ping}`, "\ufeff", "\ufeff".repeat(100_000)]) assert.equal(decode(frame, limits).kind, "malformed");
});

describe("null counts as absent", () => {
  const message = { jsonrpc: "2.0", id: 1 };

  test("for the other one of result and error, and for the method of a response", () => {
    assert.deepEqual(classify({ ...message, result: {}, error: null }), { kind: "response", id: 1, result: {} });
    assert.deepEqual(classify({ ...message, method: null, result: {} }), { kind: "response", id: 1, result: {} });
    assert.deepEqual(classify({ ...message, error: { code: 1, message: "no" }, result: null }), {
      kind: "response",
      id: 1,
      error: { code: 1, message: "no" },
    });
    assert.deepEqual(classify({ ...message, result: null }), { kind: "response", id: 1, result: null });
    for (const wrong of [{}, { error: null }, { result: {}, error: {} }])
      assert.equal(classify({ ...message, ...wrong }).kind, "malformed");
  });

  test("for _meta, and for the version in it", () => {
    assert.equal(metaOf({ _meta: null }), undefined);
    assert.equal(isModernParams({ _meta: { "io.modelcontextprotocol/protocolVersion": null } }), false);
  });
});

describe("integers in arguments that no double can represent", () => {
  const complaintOf = (args: string): string | undefined => {
    const call = decode(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${args}}}`, limits);
    assert.ok(call.kind === "request" && isJsonObject(call.params["arguments"]));
    return inexactIntegersIn(call.params["arguments"])?.message;
  };

  test("are refused by the name of their field", () => {
    assert.match(complaintOf('{"id":1915883588174806058}') ?? "", /: id is 1915883588174806058, which no double holds/);
    assert.match(complaintOf('{"a":[{"b": -9007199254740993 }]}') ?? "", /: a\.0\.b is -9007199254740993/);
    assert.match(complaintOf('{"n":9007199254740993.0}') ?? "", /: n is 9007199254740993/);
  });

  test("are refused, like any number, where they are beyond the largest double", () => {
    for (const n of ["1e400", "-1.5E+999", "9".repeat(350), "9".repeat(500)])
      assert.match(complaintOf(`{"a":{"n":${n}}}`) ?? "", /: a\.n is beyond the largest double: give it as text\.$/, n);
  });

  test("are accepted if a double can represent them, or as text", () => {
    for (const args of ["9007199254740992", "1152921504606846976", "1e300", '"1915883588174806058"', "0.1234567890123456789", "123"])
      assert.equal(complaintOf(`{"n":${args}}`), undefined, args);
    assert.equal(complaintOf('{"id":"1915883588174806058","n":1915883588174806016}'), undefined);
  });

  test("are accepted as JavaScript writes a double: a client in it has no other way", () => {
    for (const n of [2 ** 60, 2 ** 63, -(2 ** 63), 1e20 + 2 ** 20]) assert.equal(complaintOf(JSON.stringify({ n })), undefined, String(n));
  });

  test("are found in each call of a batch", () => {
    const one = (n: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":${n}}}}`;
    const batch = decode(`[${one("1")},${one("9007199254740993")}]`, limits);
    assert.ok(batch.kind === "batch");
    const found = batch.items.map((item) => {
      const call = classify(item);
      return call.kind === "request" && isJsonObject(call.params["arguments"]) && inexactIntegersIn(call.params["arguments"]) !== undefined;
    });
    assert.deepEqual(found, [false, true]);
  });
});
