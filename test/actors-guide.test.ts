// The guide to actors is true: its code is code that is tested, and does what the page says of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import { testServer, toolText, until } from "../src/testing/index.ts";
import { desk, expense } from "./guide/links.fixture.ts";
import { root } from "./serve-child.ts";

test("the guide's code of links is the code that is tested here", () => {
  const [, section = ""] = readFileSync(join(root, "docs/guide/actors.md"), "utf8").split("\n## Links\n");
  const [, code = ""] = /```ts\n([\s\S]*?)\n```/.exec(section) ?? [];
  assert.ok(code.length > 500);
  assert.ok(readFileSync(join(import.meta.dirname, "guide/links.fixture.ts"), "utf8").includes(code));
});

describe("links, as the guide has them", () => {
  for (const era of ["legacy", "modern"] as const)
    it(`refuses with the link's reason, joins under its prefix and begins a place (${era})`, async () => {
      await using server = await testServer([expense, desk]);
      const client = server.client({ principal: "ann", era });
      const early = await client.callTool("desk.queue", {});
      assert.deepEqual([early["isError"], toolText(early)], [true, "Submit it first."]);
      assert.match(JSON.stringify(early["_meta"]), /"NOT_NOW"/);
      await client.callTool("submit", { title: "Train" });
      const waits = async (): Promise<boolean> => toolText(await client.callTool("desk.queue", {})) === '{"waiting":["Train"]}';
      await until("the expense waits", waits);
    });

  it("takes a handle where nobody is known", async () => {
    await using server = await testServer([expense, desk]);
    const client = server.client({ principal: null, era: "modern" });
    const names = (await client.listTools()).map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ["desk.queue", "end_expense", "start_expense", "submit"]);
    assert.deepEqual(
      (await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate),
      ["expense://{handle}/state"],
    );
  });
});
