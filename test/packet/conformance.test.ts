// The official conformance suite against MCP inside packets: its verdicts, and the same answers as over HTTP.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { installJudges } from "../foreign/install.ts";
import { serveChild } from "../serve-child.ts";
import { at } from "../wire.ts";
import { bearer, writeKeys } from "./api-keys.ts";
import { mcpOverPackets, type Pair } from "./mcp-over-packets.ts";

/** By scenario: whether it passed. */
const judged = (url: string, requirements: string, folder: string): Promise<ReadonlyMap<string, boolean>> => {
  const entry = join(installJudges(), "@modelcontextprotocol/conformance/dist/index.js");
  return new Promise((settle) => {
    execFile(
      process.execPath,
      [entry, "server", "--url", url, "--requirements", requirements, "-o", folder],
      { maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) =>
        settle(new Map([...stdout.matchAll(/^([✓✗]) (\S+): \d+ passed/gm)].map(([, mark, name]) => [name ?? "", mark === "✓"]))),
    );
  });
};

const HTTP = "is about HTTP itself";
const ASKS = "asks its client in the middle of a call, and a packet has one answer";
const TOLD = "looks for notifications before the answer, and a packet has one answer";

/** What no packet carries, and why. */
const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "2025-11-25": {
    "dns-rebinding-protection": HTTP,
    "server-session-lifecycle": HTTP,
    "server-sse-multiple-streams": HTTP,
    "server-sse-polling": HTTP,
    "tools-call-with-logging": TOLD,
    "tools-call-with-progress": TOLD,
    "tools-call-sampling": ASKS,
    "tools-call-elicitation": ASKS,
    "elicitation-sep1034-defaults": ASKS,
    "elicitation-sep1330-enums": ASKS,
  },
  "2026-07-28": {
    "dns-rebinding-protection": HTTP,
    "http-header-validation": HTTP,
    "http-custom-header-server-validation": HTTP,
    "server-sse-multiple-streams": HTTP,
    "server-stateless": "listens, and looks at headers, and a packet has one answer and none",
    "tools-call-with-progress": TOLD,
    "tasks-request-headers": HTTP,
  },
};

// Whether a run of nothing would pass, too, is what the least numbers guard against.
const least: Readonly<Record<string, { readonly scenarios: number; readonly answers: number }>> = {
  "2025-11-25": { scenarios: 23, answers: 60 },
  "2026-07-28": { scenarios: 32, answers: 75 },
};

const HEADER_MISMATCH = -32_020;

/** Undefined where HTTP, or a stream, is what made the difference, and where each server has a task of its own. */
const compared = ({ method, tunnelled, direct }: Pair): readonly [string, string] | undefined =>
  direct === undefined ||
  at(direct, "error", "code") === HEADER_MISMATCH ||
  method.startsWith("tasks/") ||
  at(direct, "result", "resultType") === "task"
    ? undefined
    : [bodyOf(tunnelled), bodyOf(direct)];

/** What a server signs to itself has its time in it. */
const bodyOf = (answer: unknown): string => {
  const state = at(answer, "result", "requestState");
  const body = JSON.stringify(answer ?? null);
  return typeof state === "string" ? body.replace(JSON.stringify(state), '"signed"') : body;
};

describe("the official conformance suite, inside packets", () => {
  for (const [requirements, { scenarios, answers }] of Object.entries(least))
    test(`every scenario of ${requirements} that needs no HTTP passes through mcp_request, and each answer is the gateway's own #packet.message.mcp #packet.bridge.methods #packet.phase.2-messages #packet.forward.mcp #packet.implied.13-initialize`, async () => {
      const folder = mkdtempSync(join(tmpdir(), "troupe-packet-conformance-"));
      try {
        const keys = writeKeys(join(folder, "keys.json"), { judge: [] });
        const args = ["examples/conformance", "--packets", "--api-keys", keys, "--rate", "0"];
        await using one = await serveChild(args);
        await using other = await serveChild(args);
        await using bridge = await mcpOverPackets({
          packets: String(one.ready.packets),
          mcp: String(other.ready.http),
          headers: bearer("judge"),
        });
        const verdicts = await judged(bridge.url, requirements, join(folder, "out"));
        const without = Object.keys(LEFT_OUT[requirements] ?? {});
        assert.deepEqual(
          without.filter((name) => !verdicts.has(name)),
          [],
          "what is left out is there",
        );
        const counted = [...verdicts].filter(([name]) => !without.includes(name));
        assert.deepEqual(
          counted.filter(([, passed]) => !passed),
          [],
        );
        assert.ok(counted.length >= scenarios, `${counted.length} scenarios`);
        const bodies = bridge.pairs.flatMap((pair) => {
          const both = compared(pair);
          return both === undefined ? [] : [both];
        });
        for (const [tunnelled, direct] of bodies) assert.equal(tunnelled, direct);
        assert.ok(bodies.length >= answers, `${bodies.length} answers`);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
