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

/** Records what is left to Node, with a given result. */
class FakeNode {
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

  /** The package itself is left to Node, as is every name that is not a path. */
  const begun = (format: string): FakeNode => {
    const node = new FakeNode();
    node.resolve("a", urlOf("main.js"), { url: index, format });
    return node;
  };

  test("a file next to an ES module is resolved and loaded without Node", () => {
    const node = begun("module");
    assert.deepEqual(node.resolve("./near.js", index, found("file:///wrong")), { url: near, format: "module", shortCircuit: true });
    assert.deepEqual(node.of, ["a"]);
    assert.deepEqual(node.modules.load(near), { format: "module", source: "export const near = 1;", shortCircuit: true });
  });

  test("a file in another folder is resolved by Node once per folder", () => {
    const node = begun("module");
    const once = node.resolve("./deep/deep.js", index, found(deep));
    node.resolve("./near.js", index, found(near));
    assert.deepEqual(node.resolve("./deep/deep.js", near, found("file:///wrong")), once);
    assert.equal(node.resolve("./deep/deep.js", deep, found("file:///other")).url, "file:///other");
    assert.deepEqual(node.of, ["a", "./deep/deep.js", "./deep/deep.js"]);
  });

  test("CommonJS modules of a nested package.json are left to Node", () => {
    const node = begun("module");
    const common = { url: written("exports.old = 1;", "node_modules", "a", "old", "old.js"), format: "commonjs" };
    assert.equal(node.resolve("./old/old.js", index, common).format, "commonjs");
    assert.equal(node.modules.load(common.url), undefined);
    node.resolve("./older.js", common.url, { url: urlOf("older"), format: "commonjs" });
    assert.equal(node.of.at(-1), "./older.js");
  });

  test("links, missing files, other file types and requires are left to Node", () => {
    symlinkSync(join(root, "node_modules", "a", "deep", "deep.js"), join(root, "node_modules", "a", "link.js"));
    const node = begun("module");
    for (const specifier of ["./link.js", "./missing.js", "./data.json", "./near.js?again", "./n%65ar.js", "b"]) {
      node.resolve(specifier, index, found(deep));
      assert.equal(node.of.at(-1), specifier);
    }
    node.resolve("./near.js", index, found(near), ["node", "require"]);
    assert.equal(node.of.at(-1), "./near.js");
    const common = begun("commonjs");
    common.resolve("./near.js", index, found(near));
    assert.deepEqual(common.of, ["a", "./near.js"]);
  });

  test("an author's own files are resolved by Node each time, since they change", () => {
    const node = new FakeNode();
    const main = written("import './part.js';", "main.js");
    written("export {};", "part.js");
    node.resolve(main, undefined, found(main));
    for (let round = 0; round < 2; round += 1) node.resolve("./part.js", main, found(urlOf("part.js")));
    assert.deepEqual(node.of, [main, "./part.js", "./part.js"]);
    assert.equal(node.modules.load(main), undefined);
  });
});
