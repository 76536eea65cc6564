import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { SimulatedClock } from "../../testing/index.ts";
import { blob, content, contents, createServer, failure, image, text } from "./index.ts";

const viewer = { scopes: [] };
const NUMBER = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

function resultsServer() {
  const lines: string[] = [];
  const heard: unknown[] = [];
  const server = createServer("results", "1", {
    clock: new SimulatedClock(),
    log: (_level, data) => void lines.push(JSON.stringify(data)),
    onError: (error, { offer }) => void heard.push([offer, error instanceof Error && error.message]),
  });
  /** As plain JavaScript would register it. */
  const tool = (name: string, output: object | undefined, returned: () => unknown): void =>
    void server.tools.register(
      JSON.parse("{}", () => ({ name, ...(output === undefined ? {} : { output }) })),
      returned,
    );
  return { server, tool, lines, heard, call: (name: string) => server.source.act(viewer, `tools/${name}`, {}, {}) };
}

test("a result that does not match the output schema is reported to log and onError, not to the caller", async () => {
  const { server, tool, lines, heard, call } = resultsServer();
  await using _ = server;
  tool("field", NUMBER, () => ({ n: "secret" }));
  tool("text", NUMBER, () => "secret");
  tool("blocks", NUMBER, () => content(["secret"]));
  tool("structured", NUMBER, () => content(["secret"], { n: "secret" }));
  tool("zod", z.object({ deep: z.object({ n: z.number() }) }), () => ({ deep: { n: "secret" } }));
  tool("nothing", z.object({ n: z.number() }).optional(), () => undefined);
  const wrong = {
    field: "n must be number",
    text: "must be object",
    blocks: "must be object",
    structured: "n must be number",
    zod: "deep.n: Invalid input: expected number, received string",
    nothing: "it is undefined, which JSON does not have",
  };
  for (const [name, what] of Object.entries(wrong)) {
    await assert.rejects(call(name), { code: "CRASHED", message: new RegExp(`^tools/${name} failed(?!.*(secret|must|expected))`) });
    const sentence = `What tools/${name} returned is not its \`output\`: ${what}.`;
    assert.deepEqual(heard.pop(), [`tools/${name}`, sentence]);
    const line = JSON.parse(lines.pop() ?? "{}");
    assert.deepEqual([line.event, line.offer, line.code, line.text], ["handler-failed", `tools/${name}`, "BAD_TURN", sentence]);
  }
});

test("a valid result is sent as transformed by its schema; a failure is not checked", async () => {
  const { server, tool, call } = resultsServer();
  await using _ = server;
  tool("plain", NUMBER, () => ({ n: 1, more: true }));
  tool("made", z.object({ n: z.number().default(5) }), () => ({ unasked: "secret" }));
  tool("blocks", NUMBER, () => content(["one"], { n: 1 }));
  tool("fails", NUMBER, () => failure("Out of stock."));
  tool("list", z.array(z.string()), () => ["a"]);
  tool("nothing", z.object({ n: z.number() }).nullish(), () => undefined);
  tool("pair", { $schema: "http://json-schema.org/draft-07/schema#", type: "array", items: [true, { type: "number" }] }, () => ["a", 1]);
  assert.deepEqual(await call("plain"), { ok: { n: 1, more: true } });
  assert.deepEqual(await call("made"), { ok: { n: 5 } });
  assert.deepEqual(await call("blocks"), { ok: content(["one"], { n: 1 }) });
  assert.deepEqual(await call("fails"), { ok: failure("Out of stock.") });
  assert.deepEqual(await call("list"), { ok: ["a"] });
  assert.deepEqual(await call("nothing"), { ok: null });
  assert.deepEqual(await call("pair"), { ok: ["a", 1] });
});

test("the schema of a result that is often undefined is written and compiled once", async () => {
  const { server, tool, call } = resultsServer();
  await using _ = server;
  let written = 0;
  const output = () => {
    written += 1;
    return { type: ["object", "null"] };
  };
  const validate = (value: unknown) => ({ value });
  tool("nothing", { "~standard": { version: 1, vendor: "own", validate, jsonSchema: { input: output, output } } }, () => undefined);
  const atFirst = await call("nothing").then(() => written);
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await call("nothing"), { ok: null });
  assert.equal(written, atFirst);
});

test("a failure of a resource or a prompt is refused with a hint at refuse(), not sent as its content", async () => {
  const { server, heard } = resultsServer();
  await using _ = server;
  server.resources.register({ name: "note", uri: "note://1" }, () => failure("The disk is away."));
  server.prompts.register({ name: "ask" }, () => failure("The disk is away."));
  for (const ref of ["resources/note", "prompts/ask"] as const) {
    await assert.rejects(server.source.act(viewer, ref, {}, {}), { code: "CRASHED" });
    assert.match(JSON.stringify(heard.pop()), /is a failure\(\), which only a tool's client sees as one: throw refuse/);
  }
});

test("a result in MCP's own format is refused with a hint at content() and failure()", async () => {
  const { server, tool, heard, call } = resultsServer();
  await using _ = server;
  const blocks = [{ type: "text", text: "Out of stock." }];
  tool("failed", undefined, () => ({ content: blocks, isError: true }));
  tool("empty", undefined, () => ({ content: [], isError: true }));
  tool("both", undefined, () => ({ content: blocks, structuredContent: { n: 1 } }));
  for (const name of ["failed", "empty", "both"]) {
    await assert.rejects(call(name), { code: "CRASHED" });
    assert.match(JSON.stringify(heard.pop()), /content\(.+failure\(/);
  }
  const values = {
    node: { type: "p", content: blocks },
    page: { content: "text" },
    list: { content: [] },
    other: { content: [{ type: "p" }] },
  };
  for (const [name, value] of Object.entries(values)) {
    tool(name, undefined, () => value);
    assert.deepEqual(await call(name), { ok: value });
  }
});

test("a block that clients cannot read is reported to log and onError with its place and member", async () => {
  const { server, tool, lines, heard, call } = resultsServer();
  await using _ = server;
  const link = { type: "resource_link", uri: "x://x", name: "x" };
  const wrong: Readonly<Record<string, readonly [block: object, why: RegExp]>> = {
    snake: [{ type: "image", data: "AA==", mime_type: "secret" }, /\/1: mimeType has to be text/],
    text: [{ type: "text" }, /\/1: text has to be text/],
    letters: [{ type: "image", data: "sec ret!", mimeType: "image/png" }, /\/1: data has to be text in base64/],
    bytes: [{ type: "resource", resource: { uri: "x://x", blob: "secret!" } }, /\/1: resource has to be .*blob in base64/],
    kind: [{ type: "secret" }, /\/1: type has to be one of text, image, audio, resource, resource_link/],
    none: [{ text: "secret" }, /\/1: type has to be/],
    bare: [{ type: "resource", resource: { uri: "x://x" } }, /\/1: resource has to be \{ uri, /],
    size: [{ ...link, size: "5" }, /\/1: size has to be a number of bytes/],
    audience: [{ type: "text", text: "a", annotations: { audience: ["secret"] } }, /\/1: annotations has to be/],
    meta: [{ type: "text", text: "a", _meta: null }, /\/1: _meta has to be an object/],
  };
  for (const [name, [block, why]] of Object.entries(wrong)) {
    tool(name, undefined, () => content(["fine", Object(block)]));
    await assert.rejects(call(name), { code: "CRASHED" }, name);
    assert.match(JSON.stringify(heard.pop()), why);
    const line = JSON.parse(lines.pop() ?? "{}");
    assert.equal(line.code, "BAD_TURN");
    assert.match(line.text, /^What tools\/.+ returned has a block no client can read, \/1: (?!.*secret)/);
  }
  server.resources.register({ name: "letters", uri: "x://letters" }, () => blob("secret!"));
  await assert.rejects(server.source.act(viewer, "resources/letters", {}, {}), { code: "CRASHED" });
  assert.match(JSON.stringify(heard.pop()), /blob\(\) was given text that is not base64/);
  lines.pop();
  tool("promised", NUMBER, () => content([Object({ type: "text" })], { n: 1 }));
  await assert.rejects(call("promised"), { code: "CRASHED" });
  server.prompts.register({ name: "p" }, () => ({ messages: [{ role: "user", content: { type: "image", data: "AA==" } }] }));
  await assert.rejects(server.source.act(viewer, "prompts/p", {}, {}), { code: "CRASHED" });
  assert.match(JSON.stringify(heard.pop()), /What prompts\/p returned has a block no client can read, \/0: mimeType/);
  tool("data", undefined, () => ({ messages: [{ content: { type: "secret" } }] }));
  tool("all", undefined, () =>
    content([text("a", { annotations: { priority: 1 } }), image("AA==", "image/png"), Object({ ...link, size: 1 })]),
  );
  server.resources.register({ name: "r", uri: "x://r" }, () => contents([{ uri: "x://r", blob: "AA==" }]));
  for (const ref of ["tools/data", "tools/all", "resources/r"] as const)
    assert.ok("ok" in (await server.source.act(viewer, ref, {}, {})), ref);
});

test("a value that is not JSON is refused by its path and reported to log and onError", async () => {
  const { server, tool, lines, heard, call } = resultsServer();
  await using _ = server;
  const loop: { self?: object } = {};
  loop.self = loop;
  const wrong: Readonly<Record<string, readonly [value: unknown, why: RegExp]>> = {
    cyclic: [loop, /\/self\/self.* is deeper than 1000 levels, or holds itself/],
    bigint: [{ a: [{ n: 1n }] }, /\/a\/0\/n is a bigint/],
    map: [{ found: new Map([["secret", 1]]) }, /\/found is a Map/],
    set: [new Set(["secret"]), /it is a Set/],
    error: [new Error("secret"), /it is an error \(throw it/],
    promise: [{ later: Promise.resolve("secret") }, /\/later is a promise \(await it\)/],
    bytes: [new Uint8Array([1, 2]), /it is bytes \(return blob\(bytes\)/],
    function: [() => "secret", /it is a function/],
    getter: [
      {
        get a(): never {
          throw new Error("secret");
        },
      },
      /cannot be read/,
    ],
  };
  for (const [name, [value, why]] of Object.entries(wrong)) {
    tool(name, undefined, () => value);
    await assert.rejects(call(name), { code: "STATE_NOT_JSON", message: why }, name);
    assert.match(JSON.stringify(heard.pop()), /is not JSON/);
    const line = lines.pop() ?? "";
    assert.match(line, /"code":"STATE_NOT_JSON"/);
    assert.doesNotMatch(line, /secret/);
  }
  server.resources.register({ name: "bytes", uri: "x://bytes" }, () => new Uint8Array([1]));
  await assert.rejects(server.source.act(viewer, "resources/bytes", {}, {}), { code: "STATE_NOT_JSON", message: /blob\(bytes\)/ });
});

test("values that JSON omits or converts are as in JSON.stringify", async () => {
  const { server, tool, call } = resultsServer();
  await using _ = server;
  class Point {
    readonly x = 1;
    readonly getX = (): number => this.x;
  }
  const value = {
    at: new Date(0),
    where: new URL("http://a.example/"),
    disconnected: undefined,
    none: [undefined, Number.NaN],
    point: new Point(),
    ["__proto__"]: { own: true },
    bare: Object.assign(Object.create(null), { n: null }),
  };
  tool("value", undefined, () => value);
  assert.deepEqual(await call("value"), { ok: JSON.parse(JSON.stringify(value)) });
  tool("nothing", undefined, () => undefined);
  assert.deepEqual(await call("nothing"), { ok: null });
});
