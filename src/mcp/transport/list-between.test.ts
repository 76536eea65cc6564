import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { eventually } from "../../../test/transport/settle.ts";
import { actor } from "../../core/actor/index.ts";
import { gatewayOf } from "../gateway/kit.fixture.ts";
import { cast } from "../source/index.ts";
import { serveHttp } from "./index.ts";

const gate = actor("gate", {
  description: "A gate.",
  state: z.object({ open: z.boolean().default(true) }),
  tools: { pass: { description: "Passes.", enabled: ({ state: { open } }) => open, run: () => null } },
});

test("C8 a list that was read between a change and its undo is notified of over HTTP", async () => {
  const engine = new FakeEngine([gate]);
  engine.put("gate/main", { open: true });
  await using gateway = gatewayOf(cast({ engine, kinds: [gate] }), { rateLimit: false });
  await using door = await serveHttp({ gateway });
  const client = new Client({ name: "between", version: "1.0.0" });
  const names = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);
  let notifications = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (notifications += 1));
  await client.connect(new StreamableHTTPClientTransport(new URL(door.url)));
  await eventually(() => engine.listeners > 0);
  assert.deepEqual(await names(), ["pass"]);
  // Delayed until both changes, and the list between them, are over.
  engine.delayMs = 200;
  engine.put("gate/main", { open: false });
  assert.deepEqual(await names(), []);
  engine.put("gate/main", { open: true });
  await eventually(() => notifications > 0);
  assert.deepEqual(await names(), ["pass"]);
  await client.close();
});
