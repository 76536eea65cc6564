import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { unformatted } from "./guide-code.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

for (const name of ["chat", "incident-desk", "orders"])
  test(`the page on the example ${name} shows code of the example`, () => {
    const code = unformatted(`${read(`examples/${name}/index.ts`)}\n${read(`examples/${name}/${name}.test.ts`)}`);
    const blocks = [...read(`docs/guide/${name}.md`).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => unformatted(block));
    assert.ok(blocks.length >= 3);
    for (const block of blocks) assert.ok(code.includes(block), block);
  });
