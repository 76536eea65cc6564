// The browser build, loaded in a real browser and called inside its page.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { bundle, install, Page } from "./chromium.ts";

before(install);

test("a service inside a page serves official clients of both versions and eras #agentic.browser", async () => {
  const script = await bundle("page.ts");
  await using page = await Page.open();
  await page.evaluate(script);
  const expected = {
    server: "page",
    before: ["switch_on"],
    after: ["switch_off"],
    notified: 1,
    state: '[{"uri":"mcp://service/state/on","mimeType":"application/json","text":"true"}]',
    listeners: 0,
  };
  const found: unknown = await page.evaluate("converse()");
  assert.deepEqual(found, {
    isPage: true,
    v1: { ...expected, wrong: "refused" },
    v2: { ...expected, wrong: "refused" },
    modern: { ...expected, wrong: "refused" },
  });
});
