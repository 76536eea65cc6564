// The skill for coding agents: its code is tested here, and its pitfalls are reproduced.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { actor, refuse } from "troupe";
import { assertHasTools, assertRefused, assertToolResult, testActor, testServer } from "troupe/testing";
import * as z from "zod";
import { unformatted } from "../guide-code.ts";
import { available, book, library, reader } from "./library.ts";
import { makeServer } from "./server.ts";
import { garden } from "./work.ts";

const root = resolve(import.meta.dirname, "../..");
const skill = readFileSync(join(root, "skills/troupe/SKILL.md"), "utf8");

test("the skill has at most 300 lines, and begins with a name and a description", () => {
  assert.ok(skill.split("\n").length <= 300);
  assert.match(skill, /^---\nname: troupe\ndescription: .{40,1024}\n---\n/);
});

test("all code of the skill is tested #repository.skill", () => {
  const files = globSync("*.ts", { cwd: import.meta.dirname }).map((file) =>
    unformatted(readFileSync(join(import.meta.dirname, file), "utf8")),
  );
  const blocks = Array.from(skill.matchAll(/```ts\n([^]*?)\n```/g), ([, code = ""]) => code);
  assert.ok(blocks.length > 5);
  for (const code of blocks)
    assert.ok(
      files.some((file) => file.includes(unformatted(code.replace(/^\/\/ .*\n/, "")))),
      code,
    );
});

test("the skill names only pages, exports and subpaths that exist", () => {
  const pages = Array.from(skill.matchAll(/`(guide|recipes)\/([a-z-]+)`/g), ([, folder = "", page = ""]) => `docs/${folder}/${page}.md`);
  assert.ok(pages.length > 5);
  for (const page of pages) assert.ok(readFileSync(join(root, page), "utf8") !== "", page);
  const exports = readFileSync(join(root, "test/public-api.txt"), "utf8");
  for (const [, subpath = ""] of skill.matchAll(/`(troupe\/[a-z-]+)`/g)) assert.ok(exports.includes(`\n${subpath}\n`), subpath);
});

test("a book is lent, is due after two weeks, and comes back", async () => {
  await using server = await testServer([library, reader, book], { indexes: [available] });
  const ann = server.client({ principal: "ann" });
  const bob = server.client({ principal: "bob" });

  assertToolResult(await ann.tools.add({ title: "Emma" }), { book: "B-1" });
  assertToolResult(await ann.tools.borrow({ book: "B-1" }), "You have borrowed Emma.");
  assertRefused(await bob.tools.borrow({ book: "B-1" }), /lent out/, "LENT");

  await server.clock.advance(14 * 24 * 60 * 60_000);
  assert.equal(await ann.readText("reader://reminders"), '["Emma is due."]');

  assertToolResult(await ann.tools.give_back({ book: "B-1" }), "Thank you.");
  assert.match(await bob.readText("books://available"), /Emma/);
});

test("one actor in isolation", () => {
  const ann = testActor(reader, { key: "ann" });
  ann.turn("tools/borrow", { book: "B-1" });
  assert.equal(ann.sent[0]?.to, "book/B-1");
});

test("only librarians remove a book, and they reach any book by a link", async () => {
  await using server = await testServer([library, reader, book], { indexes: [available] });
  const ann = server.client({ principal: "ann" });
  const eve = server.client({ principal: "eve", claims: { roles: ["librarian"] } });
  await ann.tools.add({ title: "Emma" });
  assertRefused(await ann.callTool("book__remove", { book: "B-1" }), "Only librarians may do this.");
  assertHasTools(await eve.listTools(), "book__remove");
});

test("a server without actors checks arguments and results", async () => {
  await using server = await testServer(makeServer);
  const client = server.client();
  assertToolResult(await client.callTool("divide", { a: 6, b: 3 }), { result: 2 });
  assertRefused(await client.callTool("divide", { a: 1, b: 0 }), "b must not be 0.");
  assert.match(await client.readText("constants://pi"), /^3\.14/);
  await assert.rejects(client.readText("constants://e"), /not found/i);
});

const weather = createHttpServer((_, response) => void response.end('{"celsius":7}'));
before(async () => {
  await new Promise<void>((done) => weather.listen(0, "127.0.0.1", done));
  const address = weather.address();
  assert.ok(typeof address === "object" && address !== null);
  process.env["WEATHER_URL"] = `http://127.0.0.1:${address.port}/`;
});
after(() => {
  delete process.env["WEATHER_URL"];
  weather.close();
});

test("work waits for a service, and refuses if it does not answer", async () => {
  await using server = await testServer([garden]);
  assertToolResult(await server.client().tools.measure(), { celsius: 7 });
});

const alone = (run: (context: { state: { at: number } }) => void) =>
  actor("alone", {
    description: "Alone.",
    state: z.object({ at: z.number().default(0) }),
    tools: { go: { description: "Go.", run: ({ state }) => run({ state }) } },
  });

test("pitfall: an async run is refused where it is defined", () => {
  const kind = (): unknown =>
    actor("late", {
      description: "Late.",
      state: z.object({}),
      // @ts-expect-error It has to be `work`.
      tools: { go: { description: "Go.", run: async () => "late" } },
    });
  assert.throws(kind, /work/);
});

test("pitfall: a Date in the state fails the call", async () => {
  const kind = alone(({ state }) => {
    state.at = Object(new Date(0));
  });
  await using server = await testServer([kind], { log: () => undefined });
  assert.equal((await server.client().callTool("go"))["isError"], true);
});

test("pitfall: a thrown error hides its text from the caller, and a refusal shows it", async () => {
  const failing = alone(() => {
    throw new Error("the reason");
  });
  await using server = await testServer([failing], { log: () => undefined });
  assert.doesNotMatch(JSON.stringify(await server.client().callTool("go")), /the reason/);
  await using other = await testServer([alone(() => refuse("the reason"))]);
  assertRefused(await other.client().callTool("go"), "the reason");
});

test("pitfall: a turn that reads the clock differs when it is replayed", () => {
  const kind = alone(({ state }) => {
    state.at = performance.now();
  });
  assert.throws(() => testActor(kind, { key: "main" }).turn("tools/go", {}), /differ|pure/i);
});

test("pitfall: an unknown property is an error", () => {
  const kind = (): unknown =>
    // @ts-expect-error `describe` is no property.
    actor("x", { describe: "X.", description: "X.", state: z.object({}), tools: {} });
  assert.throws(kind, /describe/);
});
