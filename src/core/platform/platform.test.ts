import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import * as browser from "./browser.ts";
import * as node from "./node.ts";

const bytes = fc.uint8Array({ maxLength: 200 });
const text = fc.string({ unit: "binary", maxLength: 100 });
const hex = (of: Uint8Array): string => Buffer.from(of).toString("hex");

const agree = <T>(given: fc.Arbitrary<T>, one: (value: T) => unknown, other: (value: T) => unknown): void =>
  fc.assert(fc.property(given, (value) => assert.deepEqual(one(value), other(value))));

test("Node and browsers have the same names", () => {
  assert.deepEqual(Object.keys(browser).toSorted(), Object.keys(node).toSorted());
});

test("Node and browsers hash, sign and write alike #agentic.browser", () => {
  agree(text, node.sha256Hex, browser.sha256Hex);
  agree(text, node.sha256Base64url, browser.sha256Base64url);
  agree(
    fc.tuple(bytes, text, bytes),
    (given) => hex(node.hmacSha256(...given)),
    (given) => hex(browser.hmacSha256(...given)),
  );
  agree(bytes, node.base64urlOf, browser.base64urlOf);
  agree(
    bytes,
    (given) => hex(node.fromHex(hex(given))),
    (given) => hex(browser.fromHex(hex(given))),
  );
  agree(
    text,
    (given) => hex(node.utf8Of(given)),
    (given) => hex(browser.utf8Of(given)),
  );
  agree(text, node.utf8Length, browser.utf8Length);
});

test("Node and browsers decode alike, invalid base64 and UTF-8 included #agentic.browser", () => {
  agree(
    fc.oneof(
      bytes.map(node.base64urlOf),
      fc.base64String(),
      fc.string({ unit: fc.constantFrom(..."AZaz09+/-_ !".split("")), maxLength: 40 }),
    ),
    (given) => hex(node.fromBase64(given)),
    (given) => hex(browser.fromBase64(given)),
  );
  agree(fc.oneof(bytes, text.map(node.utf8Of)), node.textOf, browser.textOf);
  agree(
    fc.tuple(bytes, bytes, fc.boolean()),
    ([one, other, same]) => node.sameBytes(one, same ? one.slice() : other),
    ([one, other, same]) => browser.sameBytes(one, same ? one.slice() : other),
  );
});

test("Node and browsers make secrets, defer callbacks and load Ajv alike", async () => {
  for (const platform of [node, browser]) {
    assert.equal(platform.secretBytes(32).length, 32);
    assert.notDeepEqual(platform.secretBytes(32), platform.secretBytes(32));
    const order: string[] = [];
    const ran = new Promise<void>((resolve) => {
      platform.soon(() => {
        order.push("soon");
        resolve();
      });
    });
    order.push("now");
    await ran;
    assert.deepEqual(order, ["now", "soon"]);
    const Ajv = platform.loadAjv();
    assert.equal(new Ajv().compile({ type: "number" })("1"), false);
    assert.equal(new (platform.loadAjv2019())().compile({ type: "number" })(1), true);
    assert.equal(new (platform.loadAjvDraft7())().compile({ type: "number" })(1), true);
  }
});
