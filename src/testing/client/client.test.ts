import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import * as z from "zod";
import { actor, blob } from "../../core/actor/index.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import { registry } from "../../mcp/source/index.ts";
import {
  assertHasTools,
  assertRefused,
  assertToolResult,
  callToolRequest,
  RequestError,
  settle,
  type TestClientOptions,
  type TestEra,
  testServer,
  type TestServer,
  until,
} from "../index.ts";
import { counterKind } from "./counter.fixture.ts";
import { exampleSource } from "./example-source.fixture.ts";

const ERAS: readonly TestEra[] = ["legacy", "modern"];
const accept = { action: "accept", content: { yes: true } };

for (const era of ERAS) {
  describe(`the test client, ${era}`, () => {
    test("uses everything a source offers, and initializes before its first request #apptheory.capabilities.stable #apptheory.testing #apptheory.properties.testkit", async () => {
      await using server = await testServer(exampleSource().source);
      const client = server.client({ era });
      assertHasTools(await client.listTools(), "greet", "leave");
      assertToolResult(await client.callTool("greet", { name: "Ada" }), "Hello, Ada.");
      assert.deepEqual(
        (await client.listResources()).map(({ uri }) => uri),
        ["home://door"],
      );
      assert.deepEqual(
        (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate),
        ["home://room/{name}"],
      );
      assert.equal((await client.readResource("home://room/hall")).contents[0]?.["text"], "room hall");
      assert.deepEqual(
        (await client.listPrompts()).map(({ name }) => name),
        ["knock"],
      );
      assert.deepEqual((await client.getPrompt("knock", { times: "3" })).messages[0]?.["content"], {
        type: "text",
        text: "Knock 3 times.",
      });
      assert.deepEqual(await client.complete({ uri: "home://room/{name}" }, "name", "at"), ["attic"]);
      assert.equal((await client.initialize())["instructions"], "An example of everything.");
      assert.equal(typeof client.sessionId, era === "legacy" ? "string" : "undefined");
    });

    test("rejects for a JSON-RPC error, and returns the result of a failed tool", async () => {
      await using server = await testServer(exampleSource().source);
      const client = server.client({ era });
      const refused = { name: "RequestError", code: -32602, method: "tools/call" };
      await assert.rejects(client.callTool("fly"), refused);
      await assert.rejects(client.callTool("fly"), RequestError);
      assert.equal((await client.callTool("break"))["isError"], true);
    });

    test("is notified of changed lists and resources", async () => {
      const { source, shut } = exampleSource();
      await using server = await testServer(source, { listMode: { modern: "dynamic" } });
      const client = server.client({ era });
      await client.listTools();
      await client.subscribe("home://door");
      shut();
      await client.notifications.first("notifications/tools/list_changed");
      const { params } = await client.notifications.first(({ method }) => method === "notifications/resources/updated");
      assert.equal(params["uri"], "home://door");
      assert.ok(!(await client.listTools()).some(({ name }) => name === "leave"));
      await assert.rejects(client.notifications.first("notifications/never", 1), /notifications\/never\. What came: notifications\//);
      assert.match(inspect(client.notifications), /^\[\s+\{\s+(?:jsonrpc: '2\.0',\s+)?method: 'notifications\//);
    });

    test("receives progress while the tool runs", async () => {
      const gate = Promise.withResolvers<void>();
      await using server = await testServer(exampleSource(gate.promise).source);
      const client = server.client({ era });
      const result = client.callTool("slow", {}, { progressToken: "p" });
      const { params } = await client.notifications.first("notifications/progress");
      assert.deepEqual([params["progressToken"], params["progress"], params["message"]], ["p", 1, "half"]);
      gate.resolve();
      assertToolResult(await result, "Done.");
    });

    test("answers the server's questions by script, and names a missing answer", async () => {
      await using server = await testServer(exampleSource().source);
      const client = server.client({ era, answers: { elicitation: [accept] } });
      assertToolResult(await client.callTool("sure"), /"yes":true/);
      assert.equal(client.asked[0]?.params["message"], "Sure?");
      await assert.rejects(client.callTool("sure"), /elicitation\/create.*no answer left/);
      const asking = server.client({
        era,
        answers: { elicitation: ({ message }) => ({ action: message === "Sure?" ? "decline" : "cancel" }) },
      });
      assertToolResult(await asking.callTool("sure"), /decline/);
      // As TypeScript types `[accept, { action: "cancel" }]` without exactOptionalPropertyTypes.
      const script: readonly { action: string; content?: { yes: boolean; name?: string | undefined } | undefined }[] = [
        { action: "accept", content: { yes: true, name: undefined } },
        { action: "cancel", content: undefined },
      ];
      const loose = server.client({ era, answers: { elicitation: script } });
      assertToolResult(await loose.callTool("sure"), /"content":\{"yes":true\}/);
      assertToolResult(await loose.callTool("sure"), /cancel/);
    });

    test("C4 a call under a key gets its first reply again", async () => {
      await using server = await testServer([counterKind]);
      const client = server.client({ era });
      assertToolResult(await client.callTool("add", {}, { key: "k" }), "1");
      assertToolResult(await client.callTool("add", {}, { key: "k" }), "1");
      assertToolResult(await client.callTool("add"), "2");
      assert.equal((await server.engine?.read("counter/tester"))?.messageCount, 2);
    });

    test("calls as the principal that the test sets", async () => {
      await using server = await testServer([counterKind]);
      assertToolResult(await server.client({ era, principal: "ada" }).callTool("add"), "1");
      assertToolResult(await server.client({ era, principal: "bob" }).callTool("add"), "1");
      assertToolResult(await server.client({ era, principal: "ada" }).callTool("add"), "2");
      // Without a name a legacy client has its session; a modern one needs a handle of its own, so no count continues.
      const anonymous = await server.client({ era, principal: null }).raw(callToolRequest(1, "add"));
      assert.notDeepEqual(anonymous.result?.["content"], [{ type: "text", text: "3" }]);
    });

    test("calls with the scopes that the test sets", async () => {
      const source = registry({
        tools: {
          erase: {
            description: "Erases.",
            enabled: ({ viewer: { scopes } }) => scopes.includes("write") || "You may not write.",
            work: () => "Erased.",
          },
        },
      });
      await using server = await testServer(source);
      assertToolResult(await server.client({ era, scopes: ["write"] }).callTool("erase"), "Erased.");
      assert.equal((await server.client({ era }).callTool("erase"))["isError"], true);
    });

    test("the same test twice gives the same bytes #apptheory.testing", async () => {
      assert.deepEqual(await recorded(era), await recorded(era));
      assert.notDeepEqual(await recorded(era), await recorded(era, 2));
    });
  });
}

/** All that goes either way in a test that uses time, ids, questions and streams. */
async function recorded(era: TestEra, seed = 1): Promise<readonly string[]> {
  const bytes: string[] = [];
  const onCall: TestClientOptions["onCall"] = (call) => {
    bytes.push(JSON.stringify(call.request));
    void call.done.then(({ headers, body }) => bytes.push(JSON.stringify([headers, body, call.frames.all])));
  };
  const play = async (server: TestServer): Promise<void> => {
    const client = server.client({ era, onCall, answers: { elicitation: [accept] } });
    await client.listTools().catch(String);
    for (const tool of ["sure", "slow", "break", "add", "roll", "when"]) {
      await client.callTool(tool, {}, { progressToken: tool }).catch(String);
      await server.clock.advance(1_000);
    }
    await client[Symbol.asyncDispose]();
    await settle();
  };
  for (const served of [exampleSource().source, [counterKind]]) {
    await using server = await testServer(served, { seed, receipts: true });
    await play(server);
  }
  assert.ok(bytes.length > 20);
  return bytes;
}

describe("streams", () => {
  test("come frame by frame while a tool runs", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await testServer(exampleSource(gate.promise).source);
    const client = server.client();
    await client.initialize();
    const stream = client.stream(callToolRequest(9, "slow", {}, { progressToken: 1 }));
    const seen: string[] = [];
    for await (const { data } of stream) {
      seen.push(data);
      if (data.includes("half")) gate.resolve();
    }
    assert.equal(seen.length, 4);
    assert.equal((await stream.answer).headers["content-type"], "text/event-stream");
    assertToolResult(await stream.reply, "Done.");
  });

  test("are resumed after the last event received", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await testServer(exampleSource(gate.promise).source);
    const client = server.client();
    await client.initialize();
    const stream = client.stream(callToolRequest(9, "slow", {}, { progressToken: 1 }));
    await until("half came", () => stream.frames.some(({ data }) => data.includes("half")));
    stream.cancel();
    const resumed = client.resume(String(stream.frames[0]?.id));
    await until("half came again", () => resumed.frames.length > 0);
    gate.resolve();
    assert.deepEqual(
      (await resumed.all()).map(({ data }) => /half|done|Done/.exec(data)?.[0]),
      ["half", "done", "Done"],
    );
    assert.equal(stream.frames.length, 2);
  });

  test("an answer that is not a stream is one frame; a missing answer is explained", async () => {
    await using server = await testServer(exampleSource().source);
    const client = server.client();
    await client.initialize();
    const frames = await client.stream(callToolRequest(9, "greet", { name: "Bob" })).all();
    assert.match(frames[0]?.data ?? "", /Hello, Bob/);
    assert.equal(await client.endSession(), 204);
    await assert.rejects(
      client.http({ verb: "GET", headers: {} }).answer.then(({ status }) => Promise.reject(new Error(`status ${status}`))),
      /405/,
    );
    assert.equal((await client.raw(callToolRequest(10, "greet"))).error?.message.includes("initialize"), true);
  });

  test("C8 a client that does not read delays nothing, and is notified of what is dirty once it reads", async () => {
    const { source, shut } = exampleSource();
    await using server = await testServer(source);
    const client = server.client();
    await client.listTools();
    client.pauseReading();
    shut();
    await settle();
    assert.deepEqual(client.notifications.methods, []);
    client.resumeReading();
    await client.notifications.first("notifications/tools/list_changed");
    client.notifications.clear();
    assert.deepEqual([...client.notifications], []);
  });
});

describe("the test server", () => {
  test("is a finished gateway, or one made with its wires and closed with it", async () => {
    const { source } = exampleSource();
    await using own = createGateway({ source, info: { name: "own", version: "2" } });
    await using around = await testServer(own);
    assertToolResult(await around.client({ era: "modern" }).callTool("greet", { name: "Ada" }), "Hello, Ada.");
    let closed = false;
    const made = await testServer((wires) => {
      const gateway = createGateway({ ...wires, source, info: { name: "own", version: "2" } });
      return {
        gateway,
        // As a server does that lets its calls end for a while.
        async [Symbol.asyncDispose]() {
          await new Promise<void>((resolve) => void wires.clock.after(5_000, resolve));
          await gateway[Symbol.asyncDispose]();
          closed = true;
        },
      };
    });
    const serverInfo = (await made.client().initialize())["serverInfo"];
    assert.deepEqual(serverInfo, { name: "own", version: "2" });
    await made[Symbol.asyncDispose]();
    assert.ok(closed);
  });

  test("repeats arguments in headers as a modern tool requires, in any script", async () => {
    await using server = await testServer(exampleSource().source);
    const client = server.client({ era: "modern" });
    await client.listTools();
    for (const town of ["Ulm", "Łódź ", "=?base64?x?="]) assertToolResult(await client.callTool("whereabouts", { town }), town);
    assertToolResult(await client.callTool("whereabouts"), "nowhere");
  });

  test("time passes only by `advance`: a session ends after its time", async () => {
    await using server = await testServer(exampleSource().source, { sessionTtlMs: 60_000 });
    const client = server.client({ listen: false });
    await client.callTool("count");
    await server.clock.advance(200_000);
    await assert.rejects(client.callTool("count"), /initialize/);
  });

  test("a rejected request prints what the author's code threw, and where", async () => {
    const faulty = actor("faulty", {
      description: "Its view throws.",
      state: z.object({}),
      resources: {
        odd: {
          uri: "odd://one",
          view() {
            throw new RangeError("broken");
          },
        },
      },
    });
    await using server = await testServer([faulty]);
    await assert.rejects(
      server.client().readResource("odd://one"),
      /CRASHED[^]*faulty\/main threw RangeError: broken, at .*client\.test\.ts:\d+:\d+/,
    );
  });

  test("an assertion prints what the author's code threw, and where, unlike the reply", async () => {
    await using server = await testServer([counterKind]);
    const result = await server.client().callTool("crash");
    assert.ok(!JSON.stringify(result).includes("a secret"));
    const sentence = /tools\/crash of counter\/tester threw Error: a secret, at .*counter\.fixture\.ts:\d+:\d+/;
    assert.match(server.faults.join("\n"), sentence);
    assert.throws(() => assertToolResult(result, "1"), sentence);
    assert.throws(() => assertRefused(result), sentence);
    const other = await server.client({ principal: "bob" }).callTool("crash");
    assert.throws(() => assertToolResult(other, "1"), /(?!.*tester)crash of counter\/bob threw Error/);
  });
});

test("readText returns a resource's text, and throws if it has none", async () => {
  await using server = await testServer(
    registry({ resources: { word: { uri: "a://word", view: () => "hello" }, picture: { uri: "a://picture", view: () => blob("AAAA") } } }),
  );
  const client = server.client();
  assert.equal(await client.readText("a://word"), "hello");
  await assert.rejects(client.readText("a://picture"), { message: /^a:\/\/picture has no text: .+readResource/ });
});
