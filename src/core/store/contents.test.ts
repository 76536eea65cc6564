import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { contentSuite } from "../../testing/conformance/index.ts";
import { memoryContents, sqliteContents } from "./index.ts";

function temporary(): Disposable & { readonly path: string } {
  const directory = mkdtempSync(join(tmpdir(), "troupe-contents-"));
  return { path: join(directory, "sub", "contents.db"), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

contentSuite("the memory content store", {
  durable: false,
  place: () => ({ open: memoryContents, [Symbol.dispose]: () => undefined }),
});

contentSuite("the SQLite content store", {
  durable: true,
  place() {
    const { path, [Symbol.dispose]: dispose } = temporary();
    return { open: (bounds) => sqliteContents(path, bounds), [Symbol.dispose]: dispose };
  },
});

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

/** Replaces every `from` in the file by `to`, of the same length. */
function overwrite(path: string, from: string, to: string): void {
  const file = readFileSync(path, "latin1");
  assert.ok(file.includes(from));
  writeFileSync(path, file.replaceAll(from, to), "latin1");
}

test("C7 a changed byte of a content is STORE_CORRUPT, and others are still read", async () => {
  using file = temporary();
  let digests: readonly string[];
  {
    await using store = sqliteContents(file.path);
    digests = await Promise.all(["the first piece", "the second piece"].map((each) => store.put(new TextEncoder().encode(each), "s")));
    await store.label("s", "one", digests[0]);
    await store.label("s", "two", digests[1]);
  }
  overwrite(file.path, "the first piece", "the first niece");
  await using store = sqliteContents(file.path);
  await assert.rejects(store.get(digests[0] ?? ""), { name: "StoreError", code: "STORE_CORRUPT", message: new RegExp(digests[0] ?? "-") });
  assert.equal(text(await store.get(digests[1] ?? "")), "the second piece");
});

test("C7 a label that was changed in the file is STORE_CORRUPT", async () => {
  using file = temporary();
  {
    await using store = sqliteContents(file.path);
    await store.label("space", "label-one", await store.put(new TextEncoder().encode("x")));
  }
  overwrite(file.path, "label-one", "label-two");
  await using store = sqliteContents(file.path);
  await assert.rejects(store.labelled("space", "label-two"), { name: "StoreError", code: "STORE_CORRUPT" });
  await assert.rejects(store.labels("space", 10), { name: "StoreError", code: "STORE_CORRUPT" });
});

test("C2 nothing acknowledged is lost when its process is killed", async () => {
  using file = temporary();
  const fixture = join(import.meta.dirname, "content-writer.fixture.ts");
  const running = spawn(process.execPath, ["--conditions=troupe-source", fixture, file.path], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  running.stdout.setEncoding("utf8").on("data", (part: string) => {
    output += part;
    if (output.length > 40_000) running.kill("SIGKILL");
  });
  await once(running, "close");
  // The last line may be incomplete.
  const lines = output.split("\n").slice(0, -1);
  await using store = sqliteContents(file.path);
  const last = new Map<string, number>();
  for (const line of lines) {
    const [what, digest = "", name = "", n = ""] = line.split(" ");
    assert.equal(text(await store.get(digest)).slice(0, `${name} ${n} `.length), `${name} ${n} `);
    if (what === "last") last.set(name, Number(n));
  }
  assert.equal(last.size, 4);
  for (const [name, n] of last) {
    const named = text(await store.get((await store.labelled(name, "last")) ?? ""));
    assert.ok(Number(named.split(" ")[1]) >= n);
  }
});

test("a second opening is refused, and only the owner may read the file", async () => {
  using file = temporary();
  await using store = sqliteContents(file.path);
  await store.put(new Uint8Array(10));
  assert.throws(() => sqliteContents(file.path), { name: "StoreError", code: "STORE_LOCKED" });
  assert.equal(statSync(file.path).mode & 0o077, 0);
});

test("a file that is not a content store is refused with a reason", async () => {
  using file = temporary();
  const path = join(file.path, "..", "..", "garbage");
  writeFileSync(path, "no database ".repeat(1_000));
  assert.throws(() => sqliteContents(path), { name: "StoreError", code: "STORE_CORRUPT" });
  assert.throws(() => sqliteContents(join(path, "below")), { name: "StoreError", code: "STORE_IO" });
});
