import { it } from "node:test";
import { describeDuration } from "./handles.ts";
import { fillAlias, withSegment } from "./names.ts";

import assert from "node:assert/strict";

it("a segment goes first, but never before a host", () => {
  assert.equal(withSegment("game://player/state", "{handle}"), "game://{handle}/player/state");
  assert.equal(withSegment("https://example.com/a", "x"), "https://example.com/x/a");
  assert.equal(withSegment("file:///tmp/a", "x"), "file:///x/tmp/a");
  assert.equal(withSegment("https://example.com", "x"), "https://example.com/x");
  assert.equal(withSegment("urn:isbn:1", "x"), "urn:x/isbn:1");
  assert.equal(withSegment("plain", "x"), "x/plain");
});

it("an alias is put as it is, whatever signs it has", () => {
  assert.equal(fillAlias("a://{alias}/{id}/{alias}", "$&"), "a://$&/{id}/$&");
});

it("a duration is said in its largest unit", () => {
  assert.deepEqual([86_400_000, 7 * 86_400_000, 5_400_000, 30_000, 1].map(describeDuration), [
    "24 hours",
    "7 days",
    "90 minutes",
    "30 seconds",
    "1 seconds",
  ]);
});
