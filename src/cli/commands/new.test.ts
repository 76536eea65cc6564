import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeProject, type NewProject, projectName, TEMPLATE_FOLDER, templateOf, troupeSource } from "./new.ts";

const folder = () => mkdtempDisposableSync(join(tmpdir(), "troupe-new-"));

const options = (directory: string, more: Partial<NewProject> = {}): NewProject => ({
  directory,
  template: "actor",
  troupe: { range: "^1.2.3" },
  force: false,
  templates: TEMPLATE_FOLDER,
  ...more,
});

void test("a project has the common files and those of its template, with its name", () => {
  using home = folder();
  const directory = join(home.path, "shop");
  const files = makeProject(options(directory));
  for (const file of [".gitignore", ".env.example", ".mcp.json", ".vscode/mcp.json", "AGENTS.md", "package.json", "src/index.ts"])
    assert.ok(files.includes(file), file);
  assert.equal(
    files.some((file) => file.includes("_gitignore")),
    false,
  );
  const { name, dependencies } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  assert.deepEqual([name, dependencies.troupe], ["shop", "^1.2.3"]);
  for (const file of files) assert.doesNotMatch(readFileSync(join(directory, file), "utf8"), /my-troupe/, file);
});

void test("a tarball is copied into the project, so that its container can be built", () => {
  using home = folder();
  const tarball = join(home.path, "troupe-9.9.9.tgz");
  writeFileSync(tarball, "packed");
  const directory = join(home.path, "shop");
  makeProject(options(directory, { troupe: troupeSource(tarball, "1.0.0") }));
  assert.match(readFileSync(join(directory, "package.json"), "utf8"), /"troupe": "file:troupe-9\.9\.9\.tgz"/);
  assert.equal(readFileSync(join(directory, "troupe-9.9.9.tgz"), "utf8"), "packed");
});

void test("the name of a tarball may have a $", () => {
  using home = folder();
  const tarball = join(home.path, "tr$&oupe.tgz");
  writeFileSync(tarball, "packed");
  const directory = join(home.path, "shop");
  makeProject(options(directory, { troupe: troupeSource(tarball, "1.0.0") }));
  assert.equal(JSON.parse(readFileSync(join(directory, "package.json"), "utf8")).dependencies.troupe, "file:tr$&oupe.tgz");
});

void test("a project with a dot in its name gets a server name that clients accept", () => {
  using home = folder();
  const directory = join(home.path, "my.shop");
  makeProject(options(directory, { template: "guest" }));
  const text = (file: string): string => readFileSync(join(directory, file), "utf8");
  assert.match(text("README.md"), /troupe install cursor .* --name my-shop --yes/);
  assert.match(text(".mcp.json"), /"my-shop":/);
  assert.match(text(".vscode/mcp.json"), /"my-shop":/);
  assert.match(text("package.json"), /"name": "my\.shop"/);
});

void test("a tarball that is already in the project stays", () => {
  using home = folder();
  const directory = join(home.path, "shop");
  mkdirSync(directory);
  const tarball = join(directory, "troupe-9.9.9.tgz");
  writeFileSync(tarball, "packed");
  const files = makeProject(options(directory, { force: true, troupe: { tarball } }));
  assert.ok(files.includes("troupe-9.9.9.tgz"));
  assert.equal(readFileSync(tarball, "utf8"), "packed");
});

void test("an empty name, as of an unset shell variable, is not the current folder", () => {
  assert.throws(() => projectName(""), { code: "USAGE", message: /is empty/ });
});

void test("nothing is written into a folder with files, or over a file", () => {
  using home = folder();
  const directory = join(home.path, "shop");
  mkdirSync(directory);
  writeFileSync(join(directory, "README.md"), "mine");
  assert.throws(() => makeProject(options(directory)), { code: "DIRECTORY_NOT_EMPTY", message: /has README\.md\..*--force/ });
  assert.equal(readFileSync(join(directory, "README.md"), "utf8"), "mine");
  assert.throws(() => makeProject(options(join(directory, "README.md"))), { code: "PROJECT_NAME" });
  writeFileSync(join(home.path, "file"), "");
  assert.throws(() => makeProject(options(join(home.path, "file"))), { code: "USAGE", message: /is a file/ });
});

void test("the error for a folder that cannot be created has its path and the reason", () => {
  using home = folder();
  writeFileSync(join(home.path, "file"), "");
  assert.throws(() => makeProject(options(join(home.path, "file", "shop"))), {
    code: "FAILED",
    message: /cannot be written: a part of its path/,
  });
  symlinkSync(join(home.path, "nowhere"), join(home.path, "link"));
  assert.throws(() => makeProject(options(join(home.path, "link"))), { code: "USAGE", message: /leads to nothing/ });
});

void test("a folder that contains only a repository counts as empty", () => {
  using home = folder();
  const directory = join(home.path, "shop");
  mkdirSync(join(directory, ".git"), { recursive: true });
  assert.ok(makeProject(options(directory)).includes("package.json"));
});

void test("--force replaces files of the same names only, and follows no link to a file", () => {
  using home = folder();
  const directory = join(home.path, "shop");
  mkdirSync(directory);
  writeFileSync(join(directory, "notes.txt"), "mine");
  writeFileSync(join(home.path, "elsewhere"), "untouched");
  symlinkSync(join(home.path, "elsewhere"), join(directory, "README.md"));
  makeProject(options(directory, { force: true }));
  assert.equal(readFileSync(join(directory, "notes.txt"), "utf8"), "mine");
  assert.equal(readFileSync(join(home.path, "elsewhere"), "utf8"), "untouched");
  assert.match(readFileSync(join(directory, "README.md"), "utf8"), /^# shop\n/);
});

void test("a name that npm refuses is refused with a valid suggestion", () => {
  for (const [name, better] of [
    ["My Shop", "my-shop"],
    ["_shop", "shop"],
    ["troupe", "my-troupe"],
    ["node_modules", "my-troupe"],
    ["..x", "x"],
    ["日本", "my-troupe"],
    ["A".repeat(300), "a".repeat(214)],
  ] as const)
    assert.throws(
      () => projectName(`/tmp/${name}`),
      (error) =>
        error instanceof Error && "code" in error && error.code === "PROJECT_NAME" && error.message.includes(JSON.stringify(better)),
      name,
    );
  assert.equal(projectName("/tmp/shop-2.0_x"), "shop-2.0_x");
});

void test("an unknown template is refused with the closest name", () => {
  assert.throws(() => templateOf("actr"), {
    code: "UNKNOWN_TEMPLATE",
    message: /do you mean "actor"\? There are actor, server, team, guest\./,
  });
  for (const name of ["common", "__proto__", "toString", "../actor"]) assert.throws(() => templateOf(name), { code: "UNKNOWN_TEMPLATE" });
});

void test("--troupe accepts a tarball or a version, and explains errors about folders and files", () => {
  using home = folder();
  assert.deepEqual(troupeSource(undefined, "1.2.3"), { range: "^1.2.3" });
  assert.deepEqual(troupeSource("2.0.0", "1.2.3"), { range: "2.0.0" });
  assert.deepEqual(troupeSource("https://example.com/troupe.tgz", "1.2.3"), { range: "https://example.com/troupe.tgz" });
  assert.throws(() => troupeSource(home.path, "1.2.3"), { code: "USAGE", message: /run npm pack / });
  assert.throws(() => troupeSource("./absent.tgz", "1.2.3"), { code: "USAGE", message: /there is no file \.\/absent\.tgz/ });
});

void test("--force follows no link that leads a folder out of the project", () => {
  using home = folder();
  const [directory, outside] = [join(home.path, "shop"), join(home.path, "outside")];
  for (const made of [directory, outside]) mkdirSync(made);
  symlinkSync(outside, join(directory, "src"));
  assert.throws(() => makeProject(options(directory, { force: true })), { code: "USAGE", message: /src is a link that leads out/ });
  assert.deepEqual(readdirSync(outside), []);
});
