import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { ResolveFnOutput } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { PackageModules } from "./resolve-hook.ts";

const root = mkdtempSync(join(tmpdir(), "troupe-packages-"));
after(() => rmSync(root, { recursive: true, force: true }));

const urlOf = (...path: readonly string[]): string => pathToFileURL(join(root, ...path)).href;

const written = (text: string, ...path: readonly string[]): string => {
  const file = join(root, ...path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return pathToFileURL(file).href;
};

/** What is asked of Node, which is told what to answer. */
class Asked {
  readonly of: string[] = [];
  readonly modules = new PackageModules();

  resolve(specifier: string, parentURL: string | undefined, answer: ResolveFnOutput, conditions = ["node", "import"]): ResolveFnOutput {
    return this.modules.resolve(specifier, { parentURL, conditions, importAttributes: {} }, () => {
      this.of.push(specifier);
      return answer;
    });
  }
}

describe("modules of packages", () => {
  const index = written("export * from './near.js';", "node_modules", "a", "index.js");
  const near = written("export const near = 1;", "node_modules", "a", "near.js");
  const deep = written("export const deep = 1;", "node_modules", "a", "deep", "deep.js");
  const found = (url: string): ResolveFnOutput => ({ url, format: "module" });

  /** Node was asked for the package, as it is for every name that is no path. */
  const begun = (format: string): Asked => {
    const asked = new Asked();
    asked.resolve("a", urlOf("main.js"), { url: index, format });
    return asked;
  };

  test("Node is not asked for what lies beside an ES module, and its text is at hand", () => {
    const asked = begun("module");
    assert.deepEqual(asked.resolve("./near.js", index, found("file:///wrong")), { url: near, format: "module", shortCircuit: true });
    assert.deepEqual(asked.of, ["a"]);
    assert.deepEqual(asked.modules.load(near), { format: "module", source: "export const near = 1;", shortCircuit: true });
  });

  test("it is asked once for what lies elsewhere, from each folder", () => {
    const asked = begun("module");
    const once = asked.resolve("./deep/deep.js", index, found(deep));
    asked.resolve("./near.js", index, found(near));
    assert.deepEqual(asked.resolve("./deep/deep.js", near, found("file:///wrong")), once);
    assert.equal(asked.resolve("./deep/deep.js", deep, found("file:///other")).url, "file:///other");
    assert.deepEqual(asked.of, ["a", "./deep/deep.js", "./deep/deep.js"]);
  });

  test("what a folder's own package.json makes CommonJS is left to it", () => {
    const asked = begun("module");
    const common = { url: written("exports.old = 1;", "node_modules", "a", "old", "old.js"), format: "commonjs" };
    assert.equal(asked.resolve("./old/old.js", index, common).format, "commonjs");
    assert.equal(asked.modules.load(common.url), undefined);
    asked.resolve("./older.js", common.url, { url: urlOf("older"), format: "commonjs" });
    assert.equal(asked.of.at(-1), "./older.js");
  });

  test("it is asked for a link, for what is not there, for other kinds of files, and for all that require and CommonJS want", () => {
    symlinkSync(join(root, "node_modules", "a", "deep", "deep.js"), join(root, "node_modules", "a", "link.js"));
    const asked = begun("module");
    for (const specifier of ["./link.js", "./missing.js", "./data.json", "./near.js?again", "./n%65ar.js", "b"]) {
      asked.resolve(specifier, index, found(deep));
      assert.equal(asked.of.at(-1), specifier);
    }
    asked.resolve("./near.js", index, found(near), ["node", "require"]);
    assert.equal(asked.of.at(-1), "./near.js");
    const common = begun("commonjs");
    common.resolve("./near.js", index, found(near));
    assert.deepEqual(common.of, ["a", "./near.js"]);
  });

  test("an author's own files are asked of it each time, since they change", () => {
    const asked = new Asked();
    const main = written("import './part.js';", "main.js");
    written("export {};", "part.js");
    asked.resolve(main, undefined, found(main));
    for (let round = 0; round < 2; round += 1) asked.resolve("./part.js", main, found(urlOf("part.js")));
    assert.deepEqual(asked.of, [main, "./part.js", "./part.js"]);
    assert.equal(asked.modules.load(main), undefined);
  });
});
