// Transcripts have one format: others' are replayed on a server by the test kit, and what the kit records is played by `npm run fixtures`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import {
  callToolRequest,
  readTranscript,
  recordTranscript,
  replayTranscript,
  testServer,
  type TestClient,
  type Transcript,
} from "troupe/testing";
import { aboutTasks, readFixture } from "../apptheory/fixture.ts";
import { fixtureGateway } from "../apptheory/fixture-gateway.ts";
import { fixtureSource } from "../apptheory/fixture-source.ts";

const folder = resolve(import.meta.dirname, "../apptheory/fixtures");
const root = resolve(import.meta.dirname, "../..");
const files = readdirSync(folder).filter((name) => name.endsWith(".json") && !aboutTasks(readFixture(join(folder, name))));
const nobody = { scopes: [] };
const transcriptIn = (name: string): Transcript => readTranscript(JSON.parse(readFileSync(join(folder, name), "utf8")));

describe("another's transcript is replayed", () => {
  for (const name of files)
    test(`without a difference: ${name}`, async () => {
      await using gateway = await fixtureGateway(readFixture(join(folder, name)).setup.mcp, "apptheory-v3");
      assert.deepEqual(await replayTranscript(gateway, transcriptIn(name), { caller: nobody }), []);
    });

  test("on a server that names sessions, events and states otherwise, without a difference either", async () => {
    for (const name of ["sse-resumable-replay.json", "result-type-input-required.json", "sessions-lifecycle-create-delete-reject.json"]) {
      const { setup } = readFixture(join(folder, name));
      const info = { name: setup.mcp.server.name, version: setup.mcp.server.version };
      await using server = await testServer(fixtureSource(setup.mcp), { info, profile: "apptheory-v3" });
      assert.deepEqual(await replayTranscript(server, transcriptIn(name), { caller: nobody }), [], name);
    }
  });

  test("and a difference is found where it is", async () => {
    const name = "sse-resumable-replay.json";
    const { setup } = readFixture(join(folder, name));
    const [streamer] = setup.mcp.tools;
    assert.ok(streamer);
    await using gateway = await fixtureGateway({ ...setup.mcp, tools: [{ ...streamer, handler: "echo_text" }] }, "apptheory-v3");
    const found = await replayTranscript(gateway, transcriptIn(name), { caller: nobody });
    assert.deepEqual(
      found.filter(({ step }) => step === "stream_call").map(({ where }) => where),
      ["header content-type", "header mcp-session-id", "body", "frames"],
    );
  });
});

const setup = {
  server: { name: "recorded", version: "3" },
  tools: [
    { name: "echo", description: "Repeats.", handler: "echo_text" },
    { name: "steps", description: "Tells of its steps.", handler: "stream_progress" },
    { name: "sure", description: "Asks first.", handler: "input_required" },
  ],
  prompts: [{ name: "greet", description: "Greets.", handler: "render_greeting", arguments: [{ name: "name", required: true }] }],
};

async function legacyVisit(client: TestClient): Promise<void> {
  await client.listTools();
  await client.callTool("echo", { message: "hello" });
  const stream = client.stream(callToolRequest("s", "steps", { message: "over" }, { progressToken: "p" }));
  await stream.all();
  await client.resume(String(stream.frames[1]?.id)).all();
  await client.getPrompt("greet", { name: "Ada" });
  await client.endSession();
  await client.http({ verb: "POST", headers: { "content-type": "text/plain" }, body: "{}" }).done;
}

async function modernVisit(client: TestClient): Promise<void> {
  await client.listTools();
  await client.callTool("steps", { message: "over" }, { progressToken: 7 });
  await client.callTool("sure", { message: "it" });
}

describe("a transcript of the test kit is run", () => {
  const run = promisify(execFile);

  test("by npm run fixtures, of both eras", async () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-recorded-"));
    const keep = (transcript: Transcript): void => writeFileSync(join(directory, `${transcript.id}.json`), JSON.stringify(transcript));
    try {
      await using server = await testServer(fixtureSource(readSetup(setup)), { info: setup.server, profile: "apptheory-v3" });
      keep(await recordTranscript(server, { name: "legacy", setup, client: { principal: null } }, legacyVisit));
      const answers = { elicitation: [{ action: "accept", content: { confirmed: true } }] };
      const client = { era: "modern" as const, principal: null, answers };
      keep(await recordTranscript(server, { name: "modern", setup, client }, modernVisit));
      const runner = ["--conditions=troupe-source", "test/apptheory/run.ts", directory];
      const { stdout } = await run(process.execPath, runner, { cwd: root }).catch((error: unknown) => ({ stdout: Object(error).stdout }));
      assert.equal(stdout, "pass     legacy.json\npass     modern.json\n2 passed, 0 failed, 0 not run, under apptheory-v3\n");
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("with what the server has to be filled in from its answers", async () => {
    await using server = await testServer(fixtureSource(readSetup(setup)), { info: setup.server });
    server.ids.queue("first");
    const { setup: legacy } = await recordTranscript(server, { name: "l" }, async (client) => void (await client.listTools()));
    assert.deepEqual(legacy.mcp, { server: { name: "recorded", version: "3" }, id_sequence: ["first"] });
    const { setup: modern } = await recordTranscript(server, { name: "m", client: { era: "modern" } }, modernList);
    assert.deepEqual(modern.mcp, { server: { name: "recorded", version: "3" } });
  });
});

const modernList = async (client: TestClient): Promise<void> => void (await client.listTools());

/** As the runner reads it. */
function readSetup(given: typeof setup): Parameters<typeof fixtureSource>[0] {
  return {
    ...given,
    server: { ...given.server, cacheable_results: {}, extension_capabilities: {} },
    id_sequence: [],
    resources: [],
    resource_templates: [],
    session_store: { seed: [] },
  };
}
