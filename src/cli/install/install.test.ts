import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutTokens } from "./install.ts";

for (const [line, masked] of [
  ['-        "Authorization": "Bearer s3cret"', '-        "Authorization": "Bearer ********"'],
  ['-        "Authorization": "Bearer s3\\"cret"', '-        "Authorization": "Bearer ********"'],
  ['-        "Authorization": "Bearer s3 c\'ret"', '-        "Authorization": "Bearer ********"'],
  ["-      Authorization: Bearer s3cret", "-      Authorization: Bearer ********"],
  ['+http_headers = { Authorization = "Bearer a.b-c" }', '+http_headers = { Authorization = "Bearer ********" }'],
  ['+        "Authorization": "Bearer ${DOOR_TOKEN}"', '+        "Authorization": "Bearer ${DOOR_TOKEN}"'],
  ['+        "Authorization": "Bearer ${env:DOOR_TOKEN}"', '+        "Authorization": "Bearer ${env:DOOR_TOKEN}"'],
] as const)
  void test(`a token is masked, and the name of its variable is not: ${line}`, () => {
    assert.equal(withoutTokens(line), masked);
  });
