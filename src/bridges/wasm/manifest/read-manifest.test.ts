import assert from "node:assert/strict";
import { test } from "node:test";
import { ManifestError } from "./manifest.ts";
import { readManifest } from "./read-manifest.ts";

const APRIL = `
name = "hello"
component_path = "target/hello.wasm"
init_state = "state.json"

[interface]
implements = "ntwk:theater/actor"
requires = []

[[handlers]]
type = "runtime"
config = {}

[[handlers]]
type = "timing"
config = { max_sleep_duration = 5000, min_sleep_duration = 10 }

[logging]
chain_events = true
level = "info"
`;

const JUNE = `
name = "chat"
version = "0.2.1"
description = "Talks"
long_description = "Talks a lot"
component = "store://manifest/chat"
save_chain = true
init_state = "store:chat-state"

[permission_policy]
type = "whatever"

[[handlers]]
type = "message-server"
config = {}

[[handlers]]
type = "environment"
[handlers.config]
allowed_vars = ["LANG"]
denied_vars = ["HOME"]
allow_list_all = true
allowed_prefixes = ["APP_"]

[[handlers]]
type = "random"
config = { seed = 7, max_bytes = 64, max_int = 9223372036854775807, allow_crypto_secure = false }

[[handlers]]
type = "filesystem"
config = { path = "data", allowed_commands = ["ls"] }
`;

const NEWEST = `
name = "late"
version = "1.0.0"
package = "late.wasm"
initial_state = "state.bin"
static_package = true
on_error = "restart"

[[handler]]
type = "store"

[[handler]]
type = "supervisor"

[[handler]]
type = "http-client"
allowed = ["api.example.org", "https://example.org/v1/"]

[[handler]]
type = "filesystem"
new_dir = true
read_only = true

[limits]
call_ms = 250
memory_mb = 16
`;

test("a manifest of April 2025 grants messages, which it could not list", () => {
  assert.deepEqual(readManifest(APRIL), {
    name: "hello",
    component: "target/hello.wasm",
    initialState: "state.json",
    saveChain: false,
    grants: { messageServer: true, runtime: true, timing: { minSleepMs: 10, maxSleepMs: 5_000 } },
    onError: "pause",
    limits: {},
    text: APRIL,
  });
});

test("a manifest of June 2025 grants only what it lists", () => {
  assert.deepEqual(readManifest(JUNE), {
    name: "chat",
    version: "0.2.1",
    description: "Talks",
    component: "store://manifest/chat",
    initialState: "store:chat-state",
    saveChain: true,
    grants: {
      messageServer: true,
      environment: { allowed: ["LANG"], denied: ["HOME"], prefixes: ["APP_"], listAll: true },
      random: { maxBytes: 64, maxInt: 9_223_372_036_854_775_807n },
      filesystem: { path: "data", write: true },
    },
    onError: "pause",
    limits: {},
    text: JUNE,
  });
});

test("a manifest with [[handler]] and fields inline is read, with on_error and limits", () => {
  assert.deepEqual(readManifest(NEWEST), {
    name: "late",
    version: "1.0.0",
    component: "late.wasm",
    initialState: "state.bin",
    saveChain: false,
    grants: {
      store: true,
      supervisor: true,
      httpClient: { allowed: ["api.example.org", "https://example.org/v1/"] },
      filesystem: { write: false },
    },
    onError: "restart",
    limits: { callMs: 250, memoryBytes: 16 * 1_048_576 },
    text: NEWEST,
  });
});

test("a handler without fields has Theater's bounds, and exposes nothing that it does not name", () => {
  const { grants } = readManifest(
    `name = "x"\n${["timing", "random", "environment", "filesystem", "http-client"].map((type) => `[[handlers]]\ntype = "${type}"\n`).join("")}`,
  );
  assert.deepEqual(grants, {
    timing: { minSleepMs: 1, maxSleepMs: 3_600_000 },
    random: { maxBytes: 1_048_576, maxInt: 2n ** 63n - 1n },
    environment: { allowed: [], denied: [], prefixes: [], listAll: false },
    filesystem: { write: true },
    httpClient: { allowed: [] },
  });
  assert.deepEqual(readManifest('name = "x"').grants, {});
});

test("errors have line and column, and say what to write", () => {
  const wrong: readonly (readonly [text: string, line: number, column: number, said: RegExp])[] = [
    ['component = "x.wasm"', 1, 1, /write name =/],
    ['name = ""', 1, 1, /write name =/],
    ['name = "x"\nname = "y"', 2, 1, /no TOML/],
    ['name = "x"\nversion = ', 2, 11, /no TOML/],
    ["# é\n  name = 3", 2, 3, /name is a number; write a text/],
    ['name = "x"\ncomponent = ["a"]', 2, 1, /component is a list; write a text/],
    ['name = "x"\ncomponent = ""', 2, 1, /component is empty; name a file/],
    ['name = "x"\ncomponent = "a"\n\npackage = "b"', 4, 1, /component and package say different things/],
    ['name = "x"\nsave_chain = "yes"', 2, 1, /save_chain is a text; write save_chain = true/],
    ['name = "x"\nhandlers = 1979-05-27', 2, 1, /handlers is a date; write each as a table/],
    ['name = "x"\n[handlers]\ntype = "runtime"', 2, 1, /handlers is a table; write each as a table of its own/],
    ['name = "x"\n[[handlers]]\nconfig = {}', 2, 1, /A handler has a type/],
    ['name = "x"\n[[handlers]]\ntype = "runtime"\n[[handlers]]\n type = "clock"', 5, 2, /"clock"; there are: runtime, /],
    ['name = "x"\n[[handlers]]\ntype = "__proto__"', 3, 1, /No handler here is called "__proto__"/],
    ['name = "x"\n[[handlers]]\ntype = "process"', 3, 1, /start no processes/],
    ['name = "x"\nhandlers = [ { type = "runtime" },\n  { type = "http-framework" } ]', 3, 5, /serve no HTTP/],
    ['name = "x"\n[[handlers]]\ntype = "runtime"\nconfig = 1', 4, 1, /config is a number; write a table/],
    [
      'name = "x"\n[[handlers]]\ntype = "timing"\nconfig = { max_sleep_duration = 5, min_sleep_duration = 6 }',
      4,
      36,
      /longer than the longest/,
    ],
    ['name = "x"\n[[handlers]]\ntype = "timing"\n[handlers.config]\nmax_sleep_duration = -1', 5, 1, /whole number from 0/],
    ['name = "x"\n[[handlers]]\ntype = "random"\n[handlers.config]\nmax_bytes = 1.5', 5, 1, /whole number/],
    ['name = "x"\n[[handlers]]\ntype = "environment"\nconfig.allowed_vars = [\n  "A",\n  7 ]', 6, 3, /allowed_vars holds a number/],
    ['name = "x"\n[[handler]]\ntype = "filesystem"\npath = ""', 4, 1, /path is empty/],
    ['name = "x"\n[[handler]]\ntype = "filesystem"\npath = "a\\u0000"', 4, 1, /NUL/],
    ['name = """\nx"""\non_error = "explode"', 3, 1, /"pause" .* or "restart"/],
    ["name = '''\non_error = 1\n'''\n'on_error' = 'retry'", 4, 1, /"pause" .* or "restart"/],
    ['name = "x"\n[limits]\ncall_ms = 0', 3, 1, /call_ms is 0; write a whole number from 1/],
    ['name = "x"\nlimits = { call_ms = 1, memory = 2 }', 2, 25, /No limit is called "memory"; there are call_ms and memory_mb/],
    ['name = "x"\n[limits]\nmemory_mb = 99999999999999999999', 3, 1, /whole number from 1 to 4096/],
    [`name = "${"x".repeat(257)}"`, 1, 1, /longer than 256 bytes/],
  ];
  for (const [text, line, column, said] of wrong)
    assert.throws(
      () => readManifest(text),
      (error: unknown) => {
        assert.ok(error instanceof ManifestError, text);
        assert.equal(error.code, "BAD_MANIFEST");
        assert.match(error.message, said);
        assert.deepEqual([error.line, error.column], [line, column], `${text}\n${error.message}`);
        assert.ok(error.message.startsWith(`line ${line}, column ${column}: `));
        return true;
      },
    );
});

test("a manifest has limits for bytes, handlers, entries and depth", () => {
  assert.throws(() => readManifest(`name = "x"\n#${"x".repeat(65_536)}`), { name: "ManifestError", code: "TOO_LARGE" });
  assert.throws(() => readManifest(`name = "x"\n${'[[handlers]]\ntype = "runtime"\n'.repeat(65)}`), /64 are the most/);
  const names = JSON.stringify(Array.from({ length: 257 }, () => "A"));
  assert.throws(() => readManifest(`name = "x"\n[[handlers]]\ntype = "environment"\nallowed_vars = ${names}`), /256 are the most/);
  assert.throws(() => readManifest(`name = "x"\na = ${"[".repeat(30_000)}${"]".repeat(30_000)}`), { name: "ManifestError" });
  assert.throws(() => readManifest(`name = "x"\n${"a.".repeat(20_000)}b = 1\non_error = 1`), /on_error/);
});

test("an error quotes nothing else of the text, which may be a private file", () => {
  assert.throws(
    () => readManifest("# a file\npassword: hunter2\nother"),
    (error: unknown) => error instanceof ManifestError && !error.message.includes("hunter2"),
  );
});

test("a manifest truncated anywhere, or with any character replaced, is read or refused with a message", () => {
  const refusedOrRead = (text: string): void => {
    try {
      assert.equal(readManifest(text).text, text);
    } catch (error) {
      assert.ok(error instanceof ManifestError && error.line !== undefined && error.line > 0, String(error));
    }
  };
  for (const whole of [APRIL, JUNE, NEWEST])
    for (let at = 0; at <= whole.length; at += 1) {
      refusedOrRead(whole.slice(0, at));
      for (const other of ['"', "[", "]", "\n", "{", "'", "\\", "1"]) refusedOrRead(whole.slice(0, at) + other + whole.slice(at + 1));
    }
});
