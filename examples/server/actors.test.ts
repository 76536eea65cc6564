import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { serveJobs } from "./actors.ts";

const StartResult = z.object({ result: z.object({ structuredContent: z.object({ handle: z.string() }) }) });
const TextResult = z.object({ result: z.object({ content: z.array(z.object({ text: z.string() })) }) });

test("serveActors stores handles across a restart, and reports errors that an actor throws", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-jobs-"));
  const logged: unknown[] = [];
  const serve = () => serveJobs(folder.path, (_level, data) => void logged.push(data));
  const callAt =
    ({ server }: Awaited<ReturnType<typeof serve>>) =>
    async (name: string, args: object): Promise<unknown> => {
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name };
      const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
      const answer = await server.fetch(
        new Request("http://localhost/mcp", {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta } }),
        }),
      );
      return answer.json();
    };
  const start = async (call: ReturnType<typeof callAt>): Promise<string> =>
    StartResult.parse(await call("start_job", {})).result.structuredContent.handle;
  const step = async (call: ReturnType<typeof callAt>, handle: string): Promise<string | undefined> =>
    TextResult.parse(await call("step", { handle })).result.content[0]?.text;

  const handles: string[] = [];
  {
    await using jobs = await serve();
    const call = callAt(jobs);
    handles.push(await start(call), await start(call));
    assert.equal(await step(call, handles[0] ?? ""), "Step 1 is done.");
    assert.doesNotMatch(JSON.stringify(await call("spill", { handle: handles[0] ?? "" })), /full/);
  }
  assert.match(JSON.stringify(logged), /"event":"fault","where":"turn","actor":"job\/[^"]+",.*"why":"TypeError: It was full\."/);
  {
    await using jobs = await serve();
    const steps = await Promise.all(handles.map((handle) => step(callAt(jobs), handle)));
    assert.deepEqual(steps, ["Step 2 is done.", "Step 1 is done."]);
  }
});
