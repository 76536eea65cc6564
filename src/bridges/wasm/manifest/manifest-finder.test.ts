import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { memoryContents } from "../../../core/store/index.ts";
import { MANIFEST_SPACE, ManifestFinder } from "./manifest-finder.ts";

const TEXT = 'name = "counter"\ncomponent = "counter.wasm"\n';
const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A directory of manifests, with files outside that must not be readable. */
function place(): Disposable & { readonly directory: string; readonly outside: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "troupe-manifests-")));
  const directory = join(root, "manifests");
  mkdirSync(join(directory, "counter", "data"), { recursive: true });
  writeFileSync(join(directory, "counter", "counter.toml"), TEXT);
  writeFileSync(join(directory, "counter", "counter.wasm"), "its component");
  writeFileSync(join(directory, "shared.wasm"), "another component");
  writeFileSync(join(root, "secret.toml"), 'name = "secret"\n');
  mkdirSync(join(root, "manifests-too"));
  writeFileSync(join(root, "manifests-too", "x.toml"), 'name = "secret"\n');
  return { directory, outside: root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

test("a manifest is found by a relative or absolute path in the directory, and its component next to it", async () => {
  using at = place();
  await using contents = memoryContents();
  const finder = new ManifestFinder({ directory: at.directory, contents });
  const found = { text: TEXT, origin: "counter/counter.toml" };
  assert.deepEqual(await finder.find("counter/counter.toml"), found);
  assert.deepEqual(await finder.find("./counter/../counter/counter.toml"), found);
  assert.deepEqual(await finder.find(join(at.directory, "counter/counter.toml")), found);
  assert.equal(text(await finder.content("counter.wasm", "counter/counter.toml")), "its component");
  assert.equal(text(await finder.content("../shared.wasm", "counter/counter.toml")), "another component");
  assert.equal(text(await finder.content("shared.wasm", undefined)), "another component");
});

test("nothing outside the directory is read, and errors do not reveal what exists there", async () => {
  using at = place();
  await using contents = memoryContents();
  symlinkSync(join(at.outside, "secret.toml"), join(at.directory, "link.toml"));
  symlinkSync(at.outside, join(at.directory, "up"));
  symlinkSync("loop.toml", join(at.directory, "loop.toml"));
  symlinkSync("counter/counter.toml", join(at.directory, "within.toml"));
  execFileSync("sh", ["-c", 'mkfifo "$0"', join(at.directory, "pipe.toml")]);
  const finder = new ManifestFinder({ directory: at.directory, contents });
  const paths = [
    "../secret.toml",
    "counter/../../secret.toml",
    join(at.outside, "secret.toml"),
    "../manifests-too/x.toml",
    "link.toml",
    "up/secret.toml",
    "loop.toml",
    "pipe.toml",
    "counter",
    ".",
    "",
    "none.toml",
    "../none.toml",
    "a\0b",
    "x".repeat(5_000),
  ];
  for (const path of paths) {
    const refused = { name: "ManifestError", code: "NOT_FOUND", message: /is no file below the manifests directory/ };
    await assert.rejects(finder.find(path), refused, path);
    await assert.rejects(finder.content(path, undefined), refused, path);
  }
  assert.deepEqual(await finder.find("within.toml"), { text: TEXT, origin: "counter/counter.toml" });
});

test("nothing is read from a closed directory by any path, and errors do not reveal what exists there", async () => {
  using at = place();
  await using contents = memoryContents();
  const data = join(at.directory, "data");
  mkdirSync(join(data, "guests"), { recursive: true });
  writeFileSync(join(data, "guests", "evil.toml"), TEXT);
  mkdirSync(join(at.directory, "database"));
  writeFileSync(join(at.directory, "database", "good.toml"), TEXT);
  symlinkSync("data/guests/evil.toml", join(at.directory, "link.toml"));
  symlinkSync("manifests/data", join(at.outside, "linked-data"));
  const notRead = { name: "ManifestError", code: "NOT_ALLOWED", message: /nothing is read from there/ };
  for (const closed of [[data], [join(at.outside, "linked-data")], [join(at.outside, "none"), data]]) {
    const finder = new ManifestFinder({ directory: at.directory, closed, contents });
    for (const path of [
      "data/guests/evil.toml",
      "counter/../data/guests/evil.toml",
      "data/none.toml",
      "data",
      join(data, "guests/evil.toml"),
    ]) {
      await assert.rejects(finder.find(path), notRead, path);
      await assert.rejects(finder.content(path, undefined), notRead, path);
    }
    await assert.rejects(finder.content("../data/guests/evil.toml", "counter/counter.toml"), notRead);
    await assert.rejects(finder.find("link.toml"), { code: "NOT_FOUND" });
    assert.deepEqual(await finder.find("database/good.toml"), { text: TEXT, origin: "database/good.toml" });
  }
  // The manifests directory may itself be inside a closed directory.
  const inside = new ManifestFinder({ directory: join(data, "guests"), closed: [data], contents });
  assert.deepEqual(await inside.find("evil.toml"), { text: TEXT, origin: "evil.toml" });
});

test("paths are refused without a directory, and the error names the option for one", async () => {
  await using contents = memoryContents();
  const finder = new ManifestFinder({ contents });
  for (const ask of [finder.find("/etc/hostname"), finder.content("x.wasm", undefined)])
    await assert.rejects(ask, { name: "ManifestError", code: "NOT_ALLOWED", message: /--manifests DIR/ });
  assert.deepEqual(await finder.find(TEXT), { text: TEXT });
  assert.deepEqual(await finder.find(' name="x"'), { text: ' name="x"' });
  const gone = new ManifestFinder({ directory: join(tmpdir(), "troupe-no-such-directory"), contents });
  await assert.rejects(gone.find("x.toml"), { code: "NOT_FOUND", message: /directory of manifests is not there/ });
});

test("manifests and components are found in the store by label and by digest, in spaces", async () => {
  await using contents = memoryContents();
  const digest = await contents.put(encoded(TEXT));
  await contents.label(MANIFEST_SPACE, "counter", digest);
  await contents.label("my-store", "deep/counter", digest);
  const finder = new ManifestFinder({ contents });
  for (const origin of [
    "store:counter",
    `store:${digest}`,
    "store://manifest/counter",
    "store://my-store/deep/counter",
    `store://my-store/hash/${digest}`,
  ]) {
    assert.deepEqual(await finder.find(origin), { text: TEXT, origin });
    assert.deepEqual(await finder.content(origin, undefined), encoded(TEXT));
  }
  for (const missing of ["store:none", "store://other/counter", `store:${"0".repeat(64)}`])
    await assert.rejects(finder.find(missing), { name: "ManifestError", code: "NOT_FOUND", message: /The store has no/ });
  for (const none of [
    "store:",
    "store://",
    "store:///x",
    "store://a",
    "store://a/",
    "store://a/hash/0",
    `store://a/hash/${"A".repeat(64)}`,
  ])
    await assert.rejects(finder.find(none), { name: "ManifestError", code: "BAD_MANIFEST" }, none);
  for (const far of ["https://example.org/x.toml", "HTTP://example.org/x.toml"])
    await assert.rejects(finder.find(far), { name: "ManifestError", code: "NOT_ALLOWED", message: /nothing is fetched/ });
});

test("a manifest that a reader may have written can name only stores that it may read", async () => {
  using at = place();
  await using contents = memoryContents();
  const digest = await contents.put(encoded(TEXT), "mine");
  for (const space of ["mine", "theirs", MANIFEST_SPACE]) await contents.label(space, "x", digest);
  const finder = new ManifestFinder({ directory: at.directory, contents });
  const reader = { reads: async (space: string, asked: string): Promise<boolean> => space === "mine" && asked === digest };
  const refused = { name: "ManifestError", code: "NOT_ALLOWED" };
  for (const given of ["counter/counter.toml", "store:x", "store://mine/x", `store://mine/hash/${digest}`])
    assert.equal((await finder.find(given, reader)).text, TEXT);
  for (const given of [`store:${digest}`, "store://theirs/x", `store://theirs/hash/${digest}`, `store://${MANIFEST_SPACE}/hash/${digest}`])
    await assert.rejects(finder.find(given, reader), refused, given);
  for (const origin of [undefined, "store://mine/x", `store:${digest}`, `store://${MANIFEST_SPACE}/hash/${digest}`]) {
    for (const given of [
      "shared.wasm",
      join(at.directory, "shared.wasm"),
      "store:x",
      `store:${digest}`,
      "store://theirs/x",
      "store://mine/no",
    ])
      await assert.rejects(finder.content(given, origin, reader), refused, given);
    for (const given of ["store://mine/x", `store://mine/hash/${digest}`])
      assert.equal(text(await finder.content(given, origin, reader)), TEXT);
  }
  for (const origin of ["counter/counter.toml", "store:x", `store://${MANIFEST_SPACE}/x`])
    assert.equal(text(await finder.content("store://theirs/x", origin, reader)), TEXT);
  assert.equal(text(await finder.content("../shared.wasm", "counter/counter.toml", reader)), "another component");
});

test("a manifest that is too large or not text is refused", async () => {
  using at = place();
  await using contents = memoryContents();
  writeFileSync(join(at.directory, "large.toml"), "");
  truncateSync(join(at.directory, "large.toml"), 2 ** 33);
  writeFileSync(join(at.directory, "latin.toml"), Buffer.from([0x6e, 0xff]));
  const finder = new ManifestFinder({ directory: at.directory, contents, contentBytes: 10 });
  await assert.rejects(finder.find("large.toml"), { name: "ManifestError", code: "TOO_LARGE" });
  await assert.rejects(finder.content("large.toml", undefined), { name: "ManifestError", code: "TOO_LARGE" });
  await assert.rejects(finder.content("shared.wasm", undefined), { name: "ManifestError", code: "TOO_LARGE" });
  await assert.rejects(finder.find("latin.toml"), { name: "ManifestError", code: "BAD_MANIFEST", message: /no text in UTF-8/ });
  await contents.label(MANIFEST_SPACE, "long", await contents.put(encoded("x".repeat(11))));
  await assert.rejects(finder.content("store:long", undefined), { name: "ManifestError", code: "TOO_LARGE" });
});

const WITH_FILES = 'name = "x"\n[[handlers]]\ntype = "filesystem"\nconfig = { path = "data" }\n';
const WITH_VARIABLES = 'name = "x"\n[[handlers]]\ntype = "environment"\nconfig = { allowed_vars = ["PATH"] }\n';
const WITH_PREFIXES = 'name = "x"\n[[handlers]]\ntype = "environment"\nconfig = { allowed_prefixes = [""] }\n';

test("only files of the manifests directory can grant directories and variables", async () => {
  using at = place();
  await using contents = memoryContents();
  const finder = new ManifestFinder({ directory: at.directory, contents });
  const own = "counter/counter.toml";
  assert.deepEqual((await finder.read(WITH_FILES, own)).grants.filesystem, { path: join(at.directory, "counter/data"), write: true });
  assert.deepEqual((await finder.read(WITH_VARIABLES, own)).grants.environment?.allowed, ["PATH"]);
  assert.deepEqual([finder.isTrusted(own), finder.isTrusted("store:x")], [true, false]);
  for (const origin of [undefined, "store:x"])
    for (const written of [WITH_FILES, WITH_VARIABLES, WITH_PREFIXES])
      await assert.rejects(finder.read(written, origin), { name: "ManifestError", code: "NOT_ALLOWED", message: /Only a file below/ });
  const closed = new ManifestFinder({ contents });
  await assert.rejects(closed.read(WITH_VARIABLES, own), { code: "NOT_ALLOWED" });
  assert.deepEqual((await closed.read('name = "x"\n[[handlers]]\ntype = "filesystem"', undefined)).grants.filesystem, { write: true });
});

test("a directory that a manifest names is resolved, and must exist", async () => {
  using at = place();
  await using contents = memoryContents();
  symlinkSync(at.outside, join(at.directory, "counter", "linked"));
  const finder = new ManifestFinder({ directory: at.directory, contents });
  const read = async (path: string): Promise<string | undefined> =>
    (await finder.read(WITH_FILES.replace("data", path), "counter/counter.toml")).grants.filesystem?.path;
  assert.equal(await read("linked"), at.outside);
  assert.equal(await read(at.outside), at.outside);
  await assert.rejects(read("none"), { name: "ManifestError", code: "NOT_FOUND", message: /Make it first/ });
});
