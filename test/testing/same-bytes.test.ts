// The same test twice gives the same bytes: all that goes over the wire, and all that is left in the chains.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createServer } from "troupe/server";
import { callToolRequest, settle, testServer, type TestClientOptions, type TestEra, type TestServer } from "troupe/testing";
import { errand, master } from "./errands.ts";
import { lamp } from "./lamp.ts";

const accept = { action: "accept", content: { yes: true } };

type Recorded = readonly string[];

/** All that goes either way, with heads and ids, whatever the server is. */
function recorder(): { readonly bytes: string[]; readonly onCall: NonNullable<TestClientOptions["onCall"]> } {
  const bytes: string[] = [];
  return {
    bytes,
    onCall(call) {
      bytes.push(JSON.stringify(call.request));
      const said = ({ status, headers, body }: Awaited<typeof call.done>): void =>
        void bytes.push(JSON.stringify([status, headers, body, call.frames.all]));
      void call.done.then(said, String);
    },
  };
}

async function chains({ engine }: TestServer): Promise<Recorded> {
  const all: string[] = [];
  for (const { id } of (await engine?.list({ limit: 100 })) ?? [])
    for await (const event of engine?.history(id) ?? []) all.push(JSON.stringify(event));
  return all;
}

async function actors(era: TestEra, seed?: number): Promise<Recorded> {
  await using server = await testServer([master, errand], { receipts: true, ...(seed === undefined ? {} : { seed }) });
  const { bytes, onCall } = recorder();
  const client = server.client({ era, onCall, answers: { elicitation: [accept, accept] } });
  await client.listTools();
  await client.subscribe("errands://told");
  for (const what of ["milk", "bread"]) await client.callTool("send", { what });
  for (const name of ["roll", "sure", "dig"]) await client.callTool(name, {}, { progressToken: name });
  await server.clock.advance(2_000);
  await client.readResource("errands://told");
  const stream = client.stream(callToolRequest("s", "dig", {}, { progressToken: "s" }));
  await stream.all();
  const [first] = stream.frames;
  if (era === "legacy" && first?.id !== undefined) await client.resume(first.id).all();
  await client[Symbol.asyncDispose]();
  await settle();
  return [...bytes, ...(await chains(server))];
}

async function ownServer(era: TestEra): Promise<Recorded> {
  await using served = await testServer((wires) => {
    const own = createServer("own", "1.0.0", wires);
    own.tools.register({ name: "run" }, async ({ requestId, emit, ask }) => {
      emit({ requestId });
      const { sure } = ask({
        sure: { method: "elicitation/create", params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } } },
      });
      return JSON.stringify([requestId, sure]);
    });
    return own;
  });
  const { bytes, onCall } = recorder();
  const client = served.client({ era, onCall, answers: { elicitation: [accept] } });
  await client.callTool("run", {}, { progressToken: 1 });
  await client[Symbol.asyncDispose]();
  await settle();
  return bytes;
}

async function service(era: TestEra): Promise<Recorded> {
  await using served = await testServer(lamp());
  const { bytes, onCall } = recorder();
  const client = served.client({ era, onCall });
  await client.listTools();
  await client.callTool("turn");
  await client.listTools();
  await client[Symbol.asyncDispose]();
  await settle();
  return bytes;
}

for (const era of ["legacy", "modern"] as const)
  describe(era, () => {
    for (const [what, record] of Object.entries({ actors, server: ownServer, service }))
      test(`of ${what}`, async () => {
        const once = await record(era);
        assert.ok(once.length > 7, once.join("\n"));
        assert.deepEqual(await record(era), once);
      });

    test("of actors, by another seed others", async () => {
      assert.notDeepEqual(await actors(era, 2), await actors(era));
    });
  });

test("what was recorded has in it what could have been another", async () => {
  const legacy = (await actors("legacy")).join("\n");
  for (const one of [
    /"mcp-session-id":"[0-9a-f]{32}"/,
    /"id":"1\./,
    /"seed\\":\\"[0-9a-f]{32}\\"/,
    /milk /,
    /errand\/[0-9a-f-]+ done/,
    /elicitation/,
  ])
    assert.match(legacy, one);
  assert.match((await actors("modern")).join("\n"), /"requestState\\?":/);
});
