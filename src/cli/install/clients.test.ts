import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { stringify as toToml } from "smol-toml";
import { stringify as toYaml } from "yaml";
import type { JsonObject } from "../../core/contract/index.ts";
import { commandsFor } from "../main.ts";
import { type Client, CLIENTS, type Machine } from "./clients.ts";
import { changeEntry, entriesOf, jsonFile, tomlFile, UnchangeableText, yamlFile } from "./config-formats.ts";
import type { Server } from "./entries.ts";
import { Command } from "commander";

const client = (id: string): Client => {
  const found = CLIENTS.find((one) => one.id === id);
  assert.ok(found, id);
  return found;
};

const LOCAL: Server = { how: "stdio", command: "/usr/bin/node", args: ["/app/troupe.js", "serve", "/app/door.ts", "--stdio"] };
const REMOTE: Server = { how: "http", url: "https://mcp.example/mcp", token: { variable: "DOOR_TOKEN" } };

void test("help names all clients", async () => {
  const program = new Command();
  for (const load of commandsFor(["install"])) (await load()).register(program, "0");
  const install = program.commands.find((command) => command.name() === "install");
  assert.deepEqual(
    install?.registeredArguments[0]?.argChoices,
    CLIENTS.map(({ id }) => id),
  );
});

const LINUX: Machine = { platform: "linux", home: "/home/ann", env: {} };
const MAC: Machine = { platform: "darwin", home: "/Users/ann", env: {} };
const WINDOWS: Machine = { platform: "win32", home: "C:\\Users\\ann", env: { APPDATA: "C:\\Users\\ann\\AppData\\Roaming" } };

for (const [id, linux, mac, windows] of [
  ["claude-code", "/home/ann/.claude.json", "/Users/ann/.claude.json", "C:\\Users\\ann\\.claude.json"],
  [
    "claude-desktop",
    "/home/ann/.config/Claude/claude_desktop_config.json",
    "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json",
    "C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
  ],
  ["cursor", "/home/ann/.cursor/mcp.json", "/Users/ann/.cursor/mcp.json", "C:\\Users\\ann\\.cursor\\mcp.json"],
  [
    "vscode",
    "/home/ann/.config/Code/User/mcp.json",
    "/Users/ann/Library/Application Support/Code/User/mcp.json",
    "C:\\Users\\ann\\AppData\\Roaming\\Code\\User\\mcp.json",
  ],
  ["codex", "/home/ann/.codex/config.toml", "/Users/ann/.codex/config.toml", "C:\\Users\\ann\\.codex\\config.toml"],
  [
    "goose",
    "/home/ann/.config/goose/config.yaml",
    "/Users/ann/.config/goose/config.yaml",
    "C:\\Users\\ann\\AppData\\Roaming\\Block\\goose\\config\\config.yaml",
  ],
  ["gemini", "/home/ann/.gemini/settings.json", "/Users/ann/.gemini/settings.json", "C:\\Users\\ann\\.gemini\\settings.json"],
] as const)
  void test(`${id} has its servers in the file that its documentation names`, () => {
    assert.deepEqual([LINUX, MAC, WINDOWS].map(client(id).userFile), [linux, mac, windows]);
  });

void test("an empty variable counts as not set", () => {
  for (const { id, userFile } of CLIENTS) {
    assert.equal(userFile({ ...LINUX, env: { XDG_CONFIG_HOME: "", CLAUDE_CONFIG_DIR: "", CODEX_HOME: "" } }), userFile(LINUX), id);
    assert.equal(userFile({ ...WINDOWS, env: { APPDATA: "" } }), userFile(WINDOWS), id);
  }
});

for (const [id, stdio, http] of [
  [
    "claude-code",
    { type: "stdio", command: LOCAL.command, args: LOCAL.args },
    { type: "http", url: REMOTE.url, headers: { Authorization: "Bearer ${DOOR_TOKEN}" } },
  ],
  [
    "cursor",
    { type: "stdio", command: LOCAL.command, args: LOCAL.args },
    { url: REMOTE.url, headers: { Authorization: "Bearer ${env:DOOR_TOKEN}" } },
  ],
  [
    "vscode",
    { type: "stdio", command: LOCAL.command, args: LOCAL.args },
    { type: "http", url: REMOTE.url, headers: { Authorization: "Bearer ${env:DOOR_TOKEN}" } },
  ],
  ["codex", { command: LOCAL.command, args: LOCAL.args }, { url: REMOTE.url, bearer_token_env_var: "DOOR_TOKEN" }],
  [
    "goose",
    { enabled: true, name: "door", timeout: 300, type: "stdio", cmd: LOCAL.command, args: LOCAL.args, env_keys: [], envs: {} },
    {
      enabled: true,
      name: "door",
      timeout: 300,
      type: "streamable_http",
      uri: REMOTE.url,
      headers: { Authorization: "Bearer ${DOOR_TOKEN}" },
      env_keys: ["DOOR_TOKEN"],
      envs: {},
    },
  ],
  ["gemini", { command: LOCAL.command, args: LOCAL.args }, { httpUrl: REMOTE.url, headers: { Authorization: "Bearer ${DOOR_TOKEN}" } }],
] as const)
  void test(`${id} gets entries for a program, and for an address with a token from the environment`, () => {
    assert.deepEqual(client(id).entry("door", LOCAL), stdio);
    assert.deepEqual(client(id).entry("door", REMOTE), http);
  });

void test("Claude Desktop reaches an address through a program, and needs the token's value", () => {
  const desktop = client("claude-desktop");
  assert.deepEqual(desktop.entry("door", LOCAL), { command: LOCAL.command, args: LOCAL.args });
  assert.deepEqual(desktop.entry("door", { how: "http", url: "http://127.0.0.1:3000/mcp" }), {
    command: "npx",
    args: ["-y", "mcp-remote", "http://127.0.0.1:3000/mcp"],
  });
  assert.throws(() => desktop.entry("door", REMOTE), /--write-token/);
  assert.deepEqual(desktop.entry("door", { ...REMOTE, token: { variable: "DOOR_TOKEN", value: "secret" } }), {
    command: "npx",
    args: ["-y", "mcp-remote", REMOTE.url, "--header", "Authorization:${AUTH_HEADER}"],
    env: { AUTH_HEADER: "Bearer secret" },
  });
});

const ENTRY: JsonObject = { command: "node", args: ["a b", 'c"d'], env: { A: "1" } };

const roundTrip = (format: Client["format"], text: string): string => {
  const added = changeEntry(format, text, ["servers", "door"], ENTRY);
  assert.deepEqual(entriesOf(format, added, "servers")["door"], ENTRY);
  return changeEntry(format, added, ["servers", "door"], undefined);
};

const names = fc.stringMatching(/^[a-z][a-z0-9_-]{0,5}$/).filter((name) => name !== "door" && name !== "servers");
const servers = fc.dictionary(names, fc.record({ command: fc.string(), args: fc.array(fc.string()), port: fc.integer() }), { minKeys: 1 });
const settings = fc.oneof(
  fc.dictionary(names, fc.oneof(fc.string(), fc.boolean(), fc.integer())),
  fc.tuple(servers, fc.dictionary(names, fc.string()), fc.dictionary(names, fc.array(fc.string()))).map(([own, before, after]) => ({
    ...before,
    servers: own,
    ...Object.fromEntries(Object.entries(after).map(([name, value]) => [`z${name}`, value])),
  })),
);

void test("adding and removing an entry leaves a JSON file unchanged", () => {
  fc.assert(
    fc.property(
      settings,
      fc.constantFrom(2, 4, "\t", 0),
      fc.boolean(),
      fc.constantFrom("", "\n"),
      fc.constantFrom("", "\uFEFF"),
      (value, indent, crlf, end, bom) => {
        const text = bom + (JSON.stringify(value, null, indent) + end).replaceAll("\n", crlf ? "\r\n" : "\n");
        assert.equal(roundTrip(jsonFile, text), text);
      },
    ),
  );
});

for (const [what, text] of [
  ["comments between and after", '{\n  // the first\n  "a": 1, // one\n  /* the second */ "b": 2 // two\n  // the end\n}\n'],
  ["comments among servers", '{\n\t"servers": {\n\t\t// mine\n\t\t"other": { "command": "x" } // keep\n\t}\n}'],
  ["one line", '{"servers":{"other":{"url":"http://x/"}},"a":[1,2]}'],
  ["only a comment", "{\n  // nothing yet\n}\n"],
] as const)
  void test(`adding and removing an entry leaves a JSON file with ${what} unchanged`, () => {
    assert.equal(roundTrip(jsonFile, text), text);
  });

void test("a trailing comma stays a single comma", () => {
  for (const text of ['{\n  "servers": {\n    "other": {},\n  },\n}\n', '{ "servers": { "other": {}, }, }']) {
    const added = changeEntry(jsonFile, text, ["servers", "door"], ENTRY);
    assert.deepEqual(Object.keys(entriesOf(jsonFile, added, "servers")), ["other", "door"]);
    assert.deepEqual(entriesOf(jsonFile, changeEntry(jsonFile, added, ["servers", "door"], undefined), "servers"), { other: {} });
  }
});

void test("an existing entry is replaced in place, and nothing else changes", () => {
  const text = '{\n  "servers": {\n    "door": { "command": "old" }, // mine\n    "other": {}\n  }\n}\n';
  const added = changeEntry(jsonFile, text, ["servers", "door"], { command: "new" });
  assert.equal(added, text.replace('{ "command": "old" }', '{\n      "command": "new"\n    }'));
  assert.equal(changeEntry(jsonFile, added, ["servers", "door"], { command: "new" }), added);
});

void test("adding and removing an entry leaves a TOML file unchanged but for a final newline", () => {
  fc.assert(
    fc.property(settings, fc.constantFrom("", "# mine\n"), (value, comment) => {
      const text = comment + (toToml(value).trim() === "" ? "" : `${toToml(value).trim()}\n`);
      assert.equal(roundTrip(tomlFile, text), text);
    }),
  );
});

void test("comments in an otherwise empty JSON file stay", () => {
  for (const text of ["// mine", '{\n  "servers": {\n    // "old": { "command": "x" }\n  }\n}\n']) {
    const added = changeEntry(jsonFile, text, ["servers", "mine"], { command: "node" });
    const removed = changeEntry(jsonFile, added, ["servers", "mine"], undefined);
    for (const after of [added, removed]) assert.match(after, /\/\/ mine\n|\/\/ "old": \{ "command": "x" \}\n/);
    assert.deepEqual(entriesOf(jsonFile, added, "servers"), { mine: { command: "node" } });
    assert.deepEqual(entriesOf(jsonFile, removed, "servers"), {});
  }
});

void test("a table in the middle of a TOML file is replaced, and other comments stay", () => {
  const text =
    '# top\nmodel = "x"\n\n[servers.door]\ncommand = "old"\n\n[servers.door.env]\nA = "2"\n\n# about b\n[servers.b]\ncommand = "[servers.door]"\n';
  const added = changeEntry(tomlFile, text, ["servers", "door"], ENTRY);
  assert.equal(
    added,
    '# top\nmodel = "x"\n\n\n# about b\n[servers.b]\ncommand = "[servers.door]"\n\n[servers.door]\ncommand = "node"\nargs = [ "a b", "c\\"d" ]\n\n[servers.door.env]\nA = "1"\n',
  );
  assert.doesNotMatch(changeEntry(tomlFile, added, ["servers", "door"], undefined), /^\[servers\.door/m);
});

void test("adding and removing an entry keeps the values and comments of a YAML file", () => {
  fc.assert(
    fc.property(settings, (value) => {
      const text = `# mine\n${Object.keys(value).length === 0 ? "" : toYaml(value)}`;
      const back = roundTrip(yamlFile, text);
      assert.deepEqual(yamlFile.parse(back), yamlFile.parse(text));
      assert.match(back, /# mine/);
    }),
  );
});

for (const text of ["servers:\n", "# mine\nother: 1\nservers: null\n", "servers: ~\n"])
  void test(`a YAML file whose servers are empty gets an entry: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(entriesOf(yamlFile, changeEntry(yamlFile, text, ["servers", "door"], ENTRY), "servers"), { door: ENTRY });
  });

void test("a YAML text that is not a map stays unchanged", () => {
  assert.throws(() => changeEntry(yamlFile, "~\n--- 1\n", ["servers", "door"], ENTRY), UnchangeableText);
});

for (const [format, text, why] of [
  [jsonFile, '{ "servers": ', /is not JSON \(\w+ at line 1, column 14\)/],
  [jsonFile, "[]", /holds no object/],
  [jsonFile, '{ "servers": [] }', /"servers" is no object/],
  [tomlFile, "servers = [", /is not TOML/],
  [tomlFile, 'servers = { b = { command = "x" } }\n', /cannot be changed safely/],
  [tomlFile, 'text = """\n[servers.door]\n"""\n', /cannot be changed safely/],
  [yamlFile, "servers: [", /is not YAML/],
  [yamlFile, "- a\n", /holds no object/],
] as const)
  void test(`a text that cannot be changed safely stays unchanged: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => changeEntry(format, text, ["servers", "door"], ENTRY),
      (error) => error instanceof UnchangeableText && why.test(error.message),
    );
  });
