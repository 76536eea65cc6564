// What stands behind a template: one resource for each value, under a URI that the template takes.
import { test } from "node:test";
import type { Bag } from "../../core/contract/index.ts";
import { templateEntries } from "./lists.ts";

import assert from "node:assert/strict";
import * as fc from "fast-check";

const offer = (definition: Bag) => ({ name: "note", action: "note", readOnly: true, listed: true, definition });
const uris = (uriTemplate: string, ...id: string[]): readonly unknown[] =>
  templateEntries(offer({ uriTemplate }), { id }).map(({ uri }) => uri);

test("each value has an entry by its name, with what the template says of all", () => {
  const shared = { description: "A note.", mimeType: "text/plain", annotations: { priority: 1 }, _meta: { x: 1 } };
  const definition = { name: "note", uriTemplate: "n://{id}/text", title: "Note", size: 3, ...shared };
  assert.deepEqual(templateEntries(offer(definition), { id: ["a", "b c"] }), [
    { name: "a", title: "Note: a", ...shared, uri: "n://a/text" },
    { name: "b c", title: "Note: b c", ...shared, uri: "n://b%20c/text" },
  ]);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), { id: ["a"] }), [{ name: "a", uri: "n://a" }]);
});

test("there is none for what no URI can name, one for what is said twice, and none where there is more or less than one variable", () => {
  assert.deepEqual(uris("n://{id}", "", "a", "\ud800", "a", "x".repeat(5_000)), ["n://a"]);
  assert.deepEqual(uris("n://{id}/{part}", "a"), []);
  assert.deepEqual(uris("n://all", "a"), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), undefined), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{id}" }), { other: ["a"] }), []);
  assert.deepEqual(templateEntries(offer({ uriTemplate: "n://{toString}" }), {}), []);
});

test("what stays in a list is not made again when something comes or goes", () => {
  const template = offer({ uriTemplate: "n://{id}" });
  const [a, b] = templateEntries(template, { id: ["a", "b"] });
  const next = templateEntries(template, { id: ["new", "b", "", "a", "b"] });
  assert.deepEqual(
    next.map(({ name }) => name),
    ["new", "b", "a"],
  );
  assert.ok(next[1] === b && next[2] === a);
});

test("there is none under a URI that clients cannot read, or read as another", () => {
  assert.deepEqual(uris("n://{+id}", "[1]", "C:\\x", "a:b", "a/[1]", "a/x:y"), ["n://a/[1]", "n://a/x:y"]);
  assert.deepEqual(uris("https://{id}/x", "a b", "a"), ["https://a/x"]);
  assert.deepEqual(uris("n:///{+id}", "..", ".", "a/../b", "a/./b", "../a", "a/..", "..?a", "..a/b..", "a/...", ".git/x"), [
    "n:///..a/b..",
    "n:///a/...",
    "n:///.git/x",
  ]);
  assert.deepEqual(uris("n://x/{id}/y", "..", "a"), ["n://x/a/y"]);
  assert.deepEqual(uris("n://x/a{id}", "..", "/.."), ["n://x/a..", "n://x/a%2F.."]);
});

test("a value is written as RFC 6570 has it, so that it is read again", () => {
  assert.deepEqual(uris("n://{id}", "a/b?c#d", "it's (1*)!", "100%", "é~_-."), [
    "n://a%2Fb%3Fc%23d",
    "n://it%27s%20%281%2A%29%21",
    "n://100%25",
    "n://%C3%A9~_-.",
  ]);
  assert.deepEqual(uris("f:///{+id}", "src/a b.ts", "q?x=[1]#y", "100%41"), ["f:///src/a%20b.ts", "f:///q?x=[1]#y", "f:///100%2541"]);
  const texts = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed());
  fc.assert(
    fc.property(texts, fc.constantFrom("", "+"), (value, operator) => {
      const [uri] = uris(`n://x/a{${operator}id}`, value);
      fc.pre(uri !== undefined || !/\/\.\.?(?:[/?#]|$)/.test(value));
      assert.ok(typeof uri === "string");
      assert.match(uri, /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/u);
      assert.equal(decodeURIComponent(uri.slice(7)), value);
    }),
  );
});
