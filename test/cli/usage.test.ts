import assert from "node:assert/strict";
import { test } from "node:test";
import { lines, troupe } from "./run.ts";

test("with --json a wrong command line is one JSON line on standard error, like every failure #cli.output", async () => {
  for (const [args, code, exit, says] of [
    [["serve", "examples/counter", "--htp", "1"], "USAGE", 2, /unknown option '--htp'/],
    [["diff", "counter/main", "0", "1"], "USAGE", 2, /from 1 on/],
    [["letters", "replay"], "USAGE", 2, /missing required argument 'id'/],
    [["nonsense"], "USAGE", 2, /unknown command/],
    [["docs", "nginx"], "USAGE", 2, /is an MCP server, and its tool search answers questions/],
    [["state", "counter/main", "--data", "examples/nowhere"], "NOT_FOUND", 4, /nowhere/],
  ] as const) {
    const ran = await troupe(...args, "--json");
    assert.equal(ran.code, exit, ran.stderr);
    assert.equal(ran.stdout, "");
    const told = lines(ran.stderr);
    assert.equal(told.length, 1, ran.stderr);
    const { error } = Object(told[0]);
    assert.equal(error.code, code);
    assert.match(error.message, says);
  }
});
