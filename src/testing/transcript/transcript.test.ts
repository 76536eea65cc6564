import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleSource } from "../client/example-source.fixture.ts";
import {
  callToolRequest,
  readTranscript,
  recordTranscript,
  replayTranscript,
  type TestClient,
  testServer,
  type Transcript,
} from "../index.ts";

const answers = { elicitation: [{ action: "accept", content: { yes: true } }] };

/** Lists, an answered question, a stream that broke off and was resumed, an end. */
async function visit(client: TestClient): Promise<void> {
  await client.listTools();
  await client.callTool("sure");
  await client.callTool("count");
  const stream = client.stream(callToolRequest(9, "slow", {}, { progressToken: 1 }));
  await stream.reply;
  await client.resume(String(stream.frames[0]?.id)).all();
  await client.endSession();
  await client.raw(callToolRequest(10, "count"));
}

const copied = (transcript: Transcript): Transcript => readTranscript(JSON.parse(JSON.stringify(transcript)));

async function recorded(seed = 1): Promise<Transcript> {
  await using server = await testServer(exampleSource().source, { seed });
  return copied(await recordTranscript(server, { name: "a visit", client: { answers } }, visit));
}

test("a recording is replayed without differences, with equal ids and with others", async () => {
  const transcript = await recorded();
  assert.deepEqual(transcript, await recorded());
  assert.deepEqual(
    transcript.input.mcp.steps.map(({ name }) => name.replace(/^\d+_/, "")),
    [
      "initialize",
      "notifications_initialized",
      "tools_list",
      "tools_call",
      "post",
      "tools_call",
      "tools_call",
      "get",
      "delete",
      "tools_call",
    ],
  );
  await using same = await testServer(exampleSource().source);
  assert.deepEqual(await replayTranscript(same, transcript), []);
});

test("session and event ids may differ if they do so consistently", async () => {
  await using first = await testServer(exampleSource().source);
  const transcript = copied(
    await recordTranscript(first, { name: "no questions" }, async (client) => {
      await client.initialize();
      const stream = client.stream(callToolRequest(9, "slow", {}, { progressToken: 1 }));
      await stream.reply;
      await client.resume(String(stream.frames[0]?.id)).all();
    }),
  );
  await using other = await testServer(exampleSource().source, { seed: 7 });
  assert.deepEqual(await replayTranscript(other, transcript), []);
  const swapped = structuredClone(transcript);
  const frames = swapped.expect.mcp.steps[3]?.sse_frames ?? [];
  Object.assign(frames[0] ?? {}, { id: frames[1]?.id });
  await using third = await testServer(exampleSource().source, { seed: 7 });
  assert.deepEqual(
    (await replayTranscript(third, swapped)).map(({ where }) => where),
    ["frame 1"],
  );
});

test("differences of a server are reported step by step", async () => {
  const transcript = await recorded();
  const { source } = exampleSource();
  source.remove("tools/count");
  await using changed = await testServer(source);
  const found = await replayTranscript(changed, transcript);
  assert.deepEqual(
    found.map(({ step, where }) => [step, where]),
    [
      ["3_tools_list", "body"],
      ["6_tools_call", "body"],
    ],
  );
  await using mute = await testServer({ exchange: () => ({ status: 404 }) });
  assert.ok((await replayTranscript(mute, transcript)).some(({ where }) => where === "header mcp-session-id"));
  await using never = await testServer({ exchange: () => new Promise<never>(() => undefined) });
  assert.deepEqual(new Set((await replayTranscript(never, transcript)).map(({ where }) => where)), new Set(["answer"]));
});

test("a stream that stays open is recorded so far", async () => {
  const play =
    (shut: () => void) =>
    async (client: TestClient): Promise<void> => {
      await client.listTools();
      shut();
      await client.notifications.first("notifications/tools/list_changed");
    };
  const { source, shut } = exampleSource();
  await using server = await testServer(source);
  const transcript = copied(await recordTranscript(server, { name: "open", client: { listen: true } }, play(shut)));
  const frames = transcript.expect.mcp.steps[2]?.sse_frames ?? [];
  assert.match(frames.at(-1)?.data ?? "", /list_changed/);
  await using again = await testServer(exampleSource().source);
  assert.deepEqual(
    (await replayTranscript(again, transcript)).map(({ step, where }) => [step, where]),
    [["3_get", "frames"]],
  );
});

test("an invalid transcript is rejected with what it lacks", () => {
  const whole = { id: "i", tier: "mcp", name: "n", setup: { mcp: {} }, input: { mcp: { steps: [] } }, expect: { mcp: { steps: [] } } };
  assert.equal(readTranscript(whole), whole);
  for (const wrong of [
    null,
    {},
    { ...whole, tier: "x" },
    { ...whole, input: {} },
    { ...whole, expect: { mcp: { steps: [{ status: 1 }] } } },
  ])
    assert.throws(() => readTranscript(wrong), /no transcript: it needs/);
});
