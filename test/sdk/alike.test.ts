// The same requests to a server of the official SDK over its own transport and through Troupe get the same answers.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromMcpServer } from "troupe/mount";
import { createServer } from "troupe/server";
import { until } from "troupe/testing";
import { CLIENTS, type Which } from "../clients.ts";
import { type Answers, type Asker, meet, type Progressed } from "./clients.ts";
import { everythingV1 } from "./everything-v1.ts";
import { everythingV2 } from "./everything-v2.ts";
import type { Everything } from "./everything.ts";

const SERVERS = { v1: everythingV1, v2: everythingV2 } as const;
const YES: Answers = { elicitation: { action: "accept", content: { yes: true } } };

interface Met extends AsyncDisposable {
  readonly client: Asker;
  readonly seen: Everything["seen"];
}

/** A connection to a new server. */
type Way = (everything: Everything, which: Which, answers?: Answers) => Promise<Met>;

const direct: Way = async ({ connect, seen }, which, answers) => {
  const client = await meet({ direct: connect }, which, answers);
  return { client, seen, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
};

const through =
  (http: boolean): Way =>
  async ({ server, seen }, which, answers) => {
    await using stack = new AsyncDisposableStack();
    const source = stack.use(fromMcpServer(server));
    await source.ready;
    const own = createServer("ours", "1.0.0", { sources: [source] });
    stack.defer(() => own.close({ graceMs: 100 }));
    const place = http ? { http: (await own.listen({ http: true })).http.url } : { gateway: own.gateway };
    const client = stack.use(await meet(place, which, answers));
    const all = stack.move();
    return { client, seen, [Symbol.asyncDispose]: () => all.disposeAsync() };
  };

const outcome = async (run: Promise<unknown>): Promise<unknown> => {
  try {
    return plain(await run);
  } catch (error) {
    assert.ok(error instanceof Error && "code" in error, String(error));
    return { code: error.code, message: error.message.replace(/^MCP error -\d+: (?=MCP error)/, "") };
  }
};

// Members that an era adds to every result, and a tool's task support, which is unused here.
const OTHERWISE = /^(?:resultType|ttlMs|cacheScope|execution)$|^io\.modelcontextprotocol\//;

/** Removes intended differences, and sorts members. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, member]) => member !== undefined && !OTHERWISE.test(key))
    .map(([key, member]): [string, unknown] => [key, plain(member)])
    .filter(([key, member]) => key !== "_meta" || Object.keys(Object(member)).length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
};

const PROBES: Readonly<Record<string, (client: Asker) => Promise<unknown>>> = {
  tools: (client) => client.tools(),
  resources: (client) => client.resources(),
  templates: (client) => client.templates(),
  prompts: (client) => client.prompts(),
  "structured content, _meta": (client) => client.call("add", { a: 1, b: 2 }),
  "arguments that do not fit": (client) => client.call("add", { a: "1" }),
  "a tool that throws": (client) => client.call("fail"),
  "a tool that refuses": (client) => client.call("refuse"),
  "blocks of every kind": (client) => client.call("show"),
  "a question": (client) => client.call("confirm", { what: "go" }),
  "questions one after the other": (client) => client.call("twice"),
  "a resource": (client) => client.read("memo://hello"),
  "a resource of a template": (client) => client.read("notes://a%2Fb"),
  "a resource of a template with slashes": (client) => client.read("files:///a/b%20c.txt"),
  "a prompt": (client) => client.prompt("greet", { name: "Ada", city: "Athens" }),
  "a prompt whose arguments do not fit": (client) =>
    client.prompt("greet", {}).then(
      () => "no error",
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
    ),
  "completion of a prompt": (client) => client.complete({ type: "ref/prompt", name: "greet" }, { name: "city", value: "A" }),
  "completion of a template": (client) => client.complete({ type: "ref/resource", uri: "notes://{id}" }, { name: "id", value: "o" }),
};

for (const [sdk, make] of Object.entries(SERVERS))
  for (const which of CLIENTS)
    describe(`a server of SDK ${sdk}, a client of ${which.sdk}, ${which.era}`, () => {
      for (const [way, name] of [
        [through(false), "in process"],
        [through(true), "over HTTP"],
      ] as const) {
        it(`gives the same answers directly and ${name} #server.sdk`, async () => {
          await using near = await direct(make(), which, YES);
          await using far = await way(make(), which, YES);
          for (const [what, probe] of Object.entries(PROBES))
            assert.deepEqual(await outcome(probe(far.client)), await outcome(probe(near.client)), what);
          assert.equal(far.client.instructions, near.client.instructions);
          assert.equal(far.seen.runs, near.seen.runs, "a handler runs once, however often it asks");
        });

        it(`sends progress and changes ${name} #server.sdk`, async () => {
          await using met = await way(make(), which, YES);
          const { client, seen } = met;
          const steps: Progressed[] = [];
          await client.call("dig", { steps: 3 }, { onprogress: (step) => void steps.push(step) });
          await until("all steps", () => steps.length === 3);
          assert.deepEqual(steps[2], { progress: 3, total: 3, message: "step 3" });

          await client.tools();
          await client.subscribe("memo://hello");
          await until("the subscription", () => seen.subscribed.length === 1);
          assert.deepEqual(seen.subscribed, ["memo://hello"]);
          await client.call("touch");
          await client.call("toggle");
          const heard = (method: string): boolean => client.heard.some((one) => one.method === method);
          await until("the update", () => heard("notifications/resources/updated"));
          await until("the changed list", () => heard("notifications/tools/list_changed"));
          const updated = client.heard.filter((one) => one.method === "notifications/resources/updated");
          assert.match(JSON.stringify(updated), /memo:\/\/hello/);
          assert.doesNotMatch(JSON.stringify(updated), /notes:/);
          assert.match(JSON.stringify(await client.tools()), /"secret"/);
          assert.match(JSON.stringify(await client.call("secret")), /psst/);
        });

        it(`cancels ${name} #server.sdk`, async () => {
          await using met = await way(make(), which, YES);
          const { client, seen } = met;
          const leave = new AbortController();
          const call = client.call("wait", {}, { signal: leave.signal });
          await until("the tool to run", () => seen.runs === 1);
          leave.abort();
          await assert.rejects(call);
          await until("the tool to be cancelled", () => seen.aborted === 1);
        });
      }
    });
