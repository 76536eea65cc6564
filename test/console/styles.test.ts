// Styles of one page must not reach another: each page's file is loaded when the page is opened first, and stays.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const console = join(import.meta.dirname, "../../console/src");

/** Selectors at the top level of a style sheet and in its media queries. */
function selectorsOf(css: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  for (const [token, head = ""] of css.replaceAll(/\/\*[\s\S]*?\*\//gu, "").matchAll(/([^{}]*)\{|\}/gu)) {
    if (token === "}") {
      depth = Math.max(0, depth - 1);
      continue;
    }
    const selector = head.split(";").at(-1)?.trim() ?? "";
    if (selector.startsWith("@keyframes")) depth += 1;
    if (selector.startsWith("@")) continue;
    if (depth === 0) found.push(...selector.split(",").map((one) => one.trim()));
    depth += 1;
  }
  return found;
}

test("each selector of a page's styles begins with a class or a name of that page's own", () => {
  const begin = (selector: string): readonly string[] => /^[^\s>+~]+/u.exec(selector)?.[0].match(/[.#][\w-]+/gu) ?? [];
  const sheets = globSync("**/*.css", { cwd: console }).map((file) => ({
    file,
    selectors: selectorsOf(readFileSync(join(console, file), "utf8")),
  }));
  const filesOf = new Map<string, Set<string>>();
  for (const { file, selectors } of sheets)
    for (const name of selectors.flatMap(begin)) filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file));
  const shared = sheets
    .filter(({ file }) => file.startsWith("pages/"))
    .flatMap(({ file, selectors }) =>
      selectors
        .filter((selector) => !begin(selector).some((name) => filesOf.get(name)?.size === 1))
        .map((selector) => `${file}: ${selector}`),
    );
  assert.ok(sheets.length > 20);
  assert.deepEqual(shared, []);
});
