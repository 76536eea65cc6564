// The official clients use a session through functions: buffered and streamed answers, each front end, warm and new environments.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { authorizedCaller, bufferedHandler, type EventKind, forLambda, streamingHandler } from "troupe/lambda";
import { createServer, type Server } from "troupe/server";
import { CLIENTS, connect } from "../clients.ts";
import { callerOf } from "../server/progress.ts";
import { fakeAwsLambda } from "./fake-awslambda.ts";
import { type Environments, simulatePlatform } from "./simulated-platform.ts";

const requestStateKey = new Uint8Array(32).fill(7);

const environment = (work: () => Promise<void> = async () => undefined): Server => {
  const server = createServer("function", "1.0.0", { ...forLambda, requestStateKey });
  server.tools.register({ name: "whoami", description: "Who calls." }, ({ viewer: { principal } }) =>
    // Without a token, the principal of a legacy client is its session.
    principal === undefined || principal.startsWith("session|") ? "anonymous" : principal,
  );
  server.tools.register({ name: "long_task", description: "Takes its time, and tells." }, async ({ emit }) => {
    emit("started");
    await work();
    emit("done");
    return "ok";
  });
  server.resources.register({ name: "hello", uri: "file://hello.txt", mimeType: "text/plain" }, () => "hello world");
  server.prompts.register({ name: "greet", arguments: [{ name: "name", required: true }] }, ({ args: { name } }) => `hello ${name}`);
  return server;
};

const hosts = ["127.0.0.1"];
/** The simulated load balancer's Host has a port. */
const anyHost = ["*"];
const buffered = (servers: readonly Server[]): Environments => ({
  buffered: servers.map((server) => bufferedHandler(server, { hosts: anyHost })),
});
const streaming = (servers: readonly Server[]): Environments => ({
  streaming: servers.map((server) => streamingHandler(server, { awslambda: fakeAwsLambda, hosts })),
});

const WAYS: Readonly<Record<string, readonly [EventKind, (servers: readonly Server[]) => Environments]>> = {
  "an HTTP API, whole": ["http", buffered],
  "a REST API, whole": ["rest", buffered],
  "a load balancer, whole": ["alb", buffered],
  "a REST API, streaming": ["rest", streaming],
  "a function URL, streaming": ["http", streaming],
};

for (const [name, [kind, environments]] of Object.entries(WAYS))
  describe(`a function behind ${name}`, () => {
    for (const which of CLIENTS)
      for (const count of [1, 3])
        test(`the official client ${which.sdk}, ${which.era}, plays a session ${count === 1 ? "in one environment" : "with each call in another environment"} #apptheory.streaming.buffered #apptheory.sessions.store`, async () => {
          const servers = Array.from({ length: count }, () => environment());
          await using platform = await simulatePlatform(kind, environments(servers));
          await using client = await connect({ http: platform.url }, which);
          assert.deepEqual(
            (await client.tools()).map((tool) => tool.name),
            ["whoami", "long_task"],
          );
          assert.equal((await client.call("whoami")).text, "anonymous");
          assert.equal((await client.call("long_task")).text, "ok");
          assert.equal(await client.read("file://hello.txt"), "hello world");
          assert.equal(await client.prompt("greet", { name: "Ana" }), "hello Ana");
          assert.deepEqual(
            platform.statuses.filter((status) => status >= 500),
            [],
          );
          for (const server of servers) await server.close();
        });
  });

describe("a streaming function", () => {
  for (const kind of ["rest", "http"] as const)
    for (const which of CLIENTS)
      test(
        `bytes reach the official client ${which.sdk}, ${which.era}, before the handler ends, ${kind} #apptheory.streaming.adapter`,
        { timeout: 20_000 },
        async () => {
          const seen = Promise.withResolvers<void>();
          await using server = environment(() => seen.promise);
          await using platform = await simulatePlatform(kind, streaming([server]));
          const client = await callerOf(which, platform.url);
          const steps: (string | undefined)[] = [];
          const result = await client.call("long_task", (step) => {
            steps.push(step);
            // The tool goes on only once its client has been notified of the start.
            seen.resolve();
          });
          assert.deepEqual(steps, ["started", "done"]);
          assert.deepEqual(result, [{ type: "text", text: "ok" }]);
          await client.close();
        },
      );
});

describe("a function behind an authorizer", () => {
  const behind = async (kind: EventKind, authorizer: Parameters<typeof simulatePlatform>[2]) => {
    const server = environment();
    const platform = await simulatePlatform(kind, { buffered: [bufferedHandler(server, { caller: authorizedCaller })] }, authorizer);
    return { server, platform };
  };

  for (const which of CLIENTS)
    test(`its callers have the gateway's principal, ${which.sdk}, ${which.era}`, async () => {
      const { server, platform } = await behind("http", { jwt: { claims: { iss: "https://login.example", sub: "ana" }, scopes: null } });
      await using _server = server;
      await using _platform = platform;
      await using client = await connect({ http: platform.url }, which);
      assert.equal((await client.call("whoami")).text, "https://login.example|ana");
    });

  test("requests without an authorizer are refused", async () => {
    const { server, platform } = await behind("rest", null);
    await using _server = server;
    await using _platform = platform;
    const answer = await fetch(platform.url, { method: "POST", body: "{}" });
    assert.deepEqual([answer.status, JSON.parse(await answer.text()).error], [401, "NOT_AUTHORIZED"]);
  });

  test("the option caller requires a server with fetchAs", () => {
    const options = { caller: authorizedCaller };
    assert.throws(() => bufferedHandler(() => new Response(), options), { code: "BAD_OPTION" });
    assert.throws(() => bufferedHandler({ fetch: () => new Response() }, options), { code: "BAD_OPTION" });
  });
});

test("without forLambda the server refuses requests with advice", async () => {
  await using server = createServer("careful", "1.0.0");
  await using platform = await simulatePlatform("http", buffered([server]));
  const answer = await fetch(platform.url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /allowedHosts/);
});
