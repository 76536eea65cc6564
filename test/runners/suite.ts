// One suite in plain JavaScript for each runner; only the import of `test` differs.
const body = `
import { actor } from "troupe";
import { createServer } from "troupe/server";
import { assertError, assertHasTools, assertToolResult, callToolRequest, clientMatrix, recordTranscript, replayTranscript, testServer } from "troupe/testing";
import * as z from "zod";

const counter = actor("counter", {
  description: "A count of one's own.",
  per: "user",
  state: z.object({ n: z.int().default(0) }),
  tools: { add: { description: "Adds one.", run: ({ state }) => String((state.n += 1)) } },
});

test("actors", async () => {
  await using server = await testServer([counter]);
  const ada = server.client({ principal: "ada" });
  assertToolResult(await ada.callTool("add"), "1");
  assertHasTools(await ada.listTools(), "add");
  assertError(await ada.raw(callToolRequest(7, "fly")), -32602);
  assertToolResult(await server.client({ era: "modern", principal: "ada" }).callTool("add"), "2");
});

test("a server", async () => {
  await using server = await testServer((wires) => {
    const own = createServer("own", "1.0.0", wires);
    own.tools.register({ name: "slow" }, ({ emit }) => { emit("half"); return "done"; });
    return own;
  });
  server.ids.queue("first");
  const client = server.client();
  assertToolResult(await client.callTool("slow", {}, { progressToken: 1 }), "done");
  await client.notifications.first("notifications/progress");
  if (client.sessionId !== "first") throw new Error(client.sessionId);
});

test("transcripts and the matrix", async () => {
  await using server = await testServer([counter]);
  const transcript = await recordTranscript(server, { name: "adding" }, async (client) => void (await client.callTool("add")));
  await using next = await testServer([counter]);
  const different = await replayTranscript(next, transcript);
  const found = await clientMatrix((options) => next.client(options), { calls: [{ name: "add" }] });
  if (different.length + found.length > 0) throw new Error(JSON.stringify([different, found]));
});
`;

/** A suite that passes: three tests. */
export const passing = (head = ""): string => `${head}${body}`;

/** A suite whose one test fails by an assertion of the kit. */
export const failing = (head = ""): string => `${head}
import { assertToolResult, testServer } from "troupe/testing";

test("wrong", async () => {
  await using server = await testServer({ exchange: () => ({ status: 200, body: JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "this" }] } }) }) });
  assertToolResult(await server.client().raw({ jsonrpc: "2.0", id: 1, method: "tools/call" }), "that");
});
`;
