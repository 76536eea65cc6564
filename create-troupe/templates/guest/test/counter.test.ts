import { join } from "node:path";
import { test } from "node:test";
import { LocalEngine } from "troupe/engine";
import { memoryContents, memoryStore } from "troupe/store";
import { assertToolResult, testServer } from "troupe/testing";
import { EngineStage, theaterFace } from "troupe/theater";
import { createGuests } from "troupe/wasm";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

test("a guest counts what it is sent", async () => {
  await using guests = createGuests({ contents: memoryContents(), manifests: join(import.meta.dirname, "../guest") });
  await using engine = await LocalEngine.start({ kinds: [guests.kind], store: memoryStore() });
  guests.attach(engine);
  await using stage = new EngineStage({ engine, kinds: [], guests });
  await using face = theaterFace({ stage });
  await using server = await testServer(face);
  const client = server.client();
  assertToolResult(await client.callTool("start_actor", { manifest: "counter.toml", name: "mine" }), /RUNNING/);
  await client.callTool("send_message", { actor_id: "mine", data: base64("add") });
  await client.callTool("send_message", { actor_id: "mine", data: base64("41") });
  assertToolResult(await client.callTool("request_message", { actor_id: "mine", data: base64("?") }), /"response_text":"42"/);
});
