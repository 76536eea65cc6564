import assert from "node:assert/strict";
import { test } from "node:test";
import { engineText, parseEngine } from "./cluster-options.ts";

test("an engine's address gives ingress and admin API, with Restate's default ports", () => {
  for (const [text, ingress, admin] of [
    ["restate://127.0.0.1", "http://127.0.0.1:8080", "http://127.0.0.1:9070"],
    ["restate://restate.internal:18080/", "http://restate.internal:18080", "http://restate.internal:9070"],
    ["RESTATE://Host:80", "http://host", "http://host:9070"],
    ["restates://calls.example", "https://calls.example:8080", "https://calls.example:9070"],
    ["restates://calls.example:443", "https://calls.example", "https://calls.example:9070"],
    ["restate://[::1]:1", "http://[::1]:1", "http://[::1]:9070"],
    ["restate://a:1?admin=https://b:2/restate/", "http://a:1", "https://b:2/restate"],
    ["restate://a:1?admin=http%3A%2F%2Fb%3A2", "http://a:1", "http://b:2"],
  ] as const)
    assert.deepEqual(parseEngine(text), { ingress, admin }, text);
});

test("an invalid engine's address is refused with the reason and an example", () => {
  for (const [text, why] of [
    ["", /no such address/],
    ["127.0.0.1:8080", /no such address/],
    ["http://127.0.0.1:8080", /no such address/],
    ["restate://", /no such address/],
    ["restate://a/path", /no such address/],
    ["restate://a#b", /no such address/],
    ["restate://a:70000", /no host\[:port\]/],
    ["restate://a:b", /no host\[:port\]/],
    ["restate://user:secret@a", /no credentials/],
    ["restate://a?token=1", /"token" is not known/],
    ["restate://a?admin=http://b&admin=http://c", /admin is given twice/],
    ["restate://a?admin=b:9070", /admin "b:9070" is no http URL/],
    ["restate://a?admin=http://u:p@b", /admin takes no credentials/],
    ["restate://a?admin=http://b/?x", /more than an address/],
  ] as const)
    assert.throws(
      () => parseEngine(text),
      (error: Error) => "code" in error && error.code === "USAGE" && why.test(error.message) && error.message.startsWith("--engine takes "),
      text,
    );
});

test("an engine's address is printed in the form that is parsed", () => {
  for (const text of ["restate://127.0.0.1:8080?admin=http://127.0.0.1:9070", "restates://a:1?admin=http://b:2"])
    assert.equal(engineText(parseEngine(text)), text);
});
