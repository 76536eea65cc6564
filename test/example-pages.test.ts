import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Code without indentation, so that a page may quote a part of a program. */
const unindented = (code: string): string => code.replaceAll(/^ +/gm, "");

for (const name of ["chat", "incident-desk", "orders"])
  test(`the page on the example ${name} shows code of the example`, () => {
    const code = unindented(`${read(`examples/${name}/index.ts`)}\n${read(`examples/${name}/${name}.test.ts`)}`);
    const blocks = [...read(`docs/guide/${name}.md`).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => unindented(block));
    assert.ok(blocks.length >= 3);
    for (const block of blocks) assert.ok(code.includes(block.trim()), block);
  });
