import { it } from "node:test";
import { fillAlias, withSegment } from "./names.ts";

import assert from "node:assert/strict";

it("a segment is put first, but not before a host", () => {
  assert.equal(withSegment("game://player/state", "{handle}"), "game://{handle}/player/state");
  assert.equal(withSegment("https://example.com/a", "x"), "https://example.com/x/a");
  assert.equal(withSegment("file:///tmp/a", "x"), "file:///x/tmp/a");
  assert.equal(withSegment("https://example.com", "x"), "https://example.com/x");
  assert.equal(withSegment("urn:isbn:1", "x"), "urn:x/isbn:1");
  assert.equal(withSegment("plain", "x"), "x/plain");
});

it("an alias is put in unchanged", () => {
  assert.equal(fillAlias("a://{alias}/{id}/{alias}", "$&"), "a://$&/{id}/$&");
});
