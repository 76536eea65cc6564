// The examples in docstrings, which the reference contains, compile unchanged.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "..");

interface Example {
  readonly file: string;
  readonly code: string;
}

const examples: readonly Example[] = globSync("src/**/*.ts", { cwd: root, exclude: ["**/*.test.ts"] }).flatMap((file) =>
  Array.from(readFileSync(join(root, file), "utf8").matchAll(/^ *\* @example\n *\* ```ts\n([\s\S]*?)^ *\* ```$/gm), ([, text = ""]) => ({
    file,
    code: text.replaceAll(/^ *\* ?/gm, ""),
  })),
);

test("each example of a docstring imports what it uses, and compiles", () => {
  assert.ok(examples.length > 40, `${examples.length} examples`);
  // Inside the package, so that it can import itself by its name.
  const folder = mkdtempSync(join(root, "test/.installing-examples-"));
  try {
    const files = examples.map(({ code }, index) => {
      const file = join(folder, `example-${index}.ts`);
      writeFileSync(file, `${code}\nexport {};\n`);
      return file;
    });
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: relative(folder, join(root, "tsconfig.json")), include: ["*.ts"], exclude: [] }),
    );
    const { status, stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], {
      cwd: root,
      encoding: "utf8",
    });
    const named = files.reduce((text, file, index) => text.replaceAll(relative(root, file), `example in ${examples[index]?.file}`), stdout);
    assert.equal(status, 0, named);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
