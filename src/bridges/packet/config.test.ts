import assert from "node:assert/strict";
import { test } from "node:test";
import { isTroupeError } from "./world.fixture.ts";
import { type ConfigInput, readConfig } from "./config.ts";

const DEFAULTS = {
  actors: { default_timeout: 1_800_000, max_actors_per_user: 10, persistence_strategy: "memory", cleanup_interval: 300_000 },
  mcp: {
    server_name: "PacketFlow Capabilities",
    server_version: "1.0.0",
    auto_generate_tools: true,
    expose_capabilities: "all",
    tool_timeout: 30_000,
    servers: {},
  },
};

const issuesOf = (value: unknown): Readonly<Record<string, string>> => {
  try {
    readConfig(value);
  } catch (error) {
    assert.ok(isTroupeError(error, "BAD_DEFINITION"));
    const issues: readonly { readonly path: string; readonly message: string }[] = Object(error.data).issues;
    for (const { path, message } of issues) assert.ok(error.message.includes(path === "" ? message : `${path}: ${message}`), error.message);
    return Object.fromEntries(issues.map(({ path, message }) => [path, message]));
  }
  return {};
};

void test("a configuration has the specification's defaults", () => {
  for (const nothing of [undefined, null, {}, { actors: null, mcp: {} }, { actors: { default_timeout: undefined } }])
    assert.deepEqual(readConfig(nothing), DEFAULTS);
});

void test("a configuration keeps all its values #packet.config.persistence", () => {
  const input: Required<ConfigInput> = {
    actors: { default_timeout: 1_000, max_actors_per_user: 3, persistence_strategy: "disk", cleanup_interval: 300_000 },
    mcp: {
      server_name: "Research",
      server_version: "2.1",
      auto_generate_tools: false,
      expose_capabilities: ["user_transform"],
      tool_timeout: 500,
      servers: {
        memory: { command: "node", args: ["server.js", "--quiet"], env: { KEY: "two\nlines", EMPTY: "" }, cwd: "/srv" },
        bare: { command: "memory-server" },
        "@far/one": { url: "https://example.org/mcp", headers: { Authorization: "Bearer x" } },
      },
    },
  };
  assert.deepEqual(readConfig(input), input);
  assert.deepEqual(readConfig(JSON.parse(JSON.stringify(input))), input);
});

void test("a cleanup interval other than the specification's default is refused, since there is no cleanup cycle", () => {
  for (const cleanup_interval of [1, 60_000, 300_001, 0, -1, "300000", 1.5])
    assert.match(issuesOf({ actors: { cleanup_interval } })["actors.cleanup_interval"] ?? "", /there is no cleanup cycle/);
  assert.deepEqual(readConfig({ actors: { cleanup_interval: 300_000 } }), DEFAULTS);
});

void test("every wrong and unknown key of a configuration is reported with its path and the closest match #packet.config.issues", () => {
  const issues = issuesOf({
    actor: {},
    actors: { defaultTimeout: 5, default_timeout: "soon", max_actors_per_user: 0, persistence_strategy: "disc", cleanup_interval: 1.5 },
    mcp: { toolTimeout: 1, tool_timeout: -1, auto_generate_tools: "yes", expose_capabilities: "some", server_version: 1.5, sparkles: true },
  });
  assert.deepEqual(Object.keys(issues).toSorted(), [
    "actor",
    "actors.cleanup_interval",
    "actors.defaultTimeout",
    "actors.default_timeout",
    "actors.max_actors_per_user",
    "actors.persistence_strategy",
    "mcp.auto_generate_tools",
    "mcp.expose_capabilities",
    "mcp.server_version",
    "mcp.sparkles",
    "mcp.toolTimeout",
    "mcp.tool_timeout",
  ]);
  assert.match(issues["actor"] ?? "", /mean actors\? Here may be: actors, mcp\.$/);
  assert.match(issues["actors.defaultTimeout"] ?? "", /mean default_timeout\?/);
  assert.match(issues["actors.persistence_strategy"] ?? "", /memory, disk, distributed\. Did you mean disk\?/);
  assert.match(issues["mcp.toolTimeout"] ?? "", /mean tool_timeout\?/);
  assert.match(issues["mcp.server_version"] ?? "", /"1\.5", in quotes/);
  assert.doesNotMatch(issues["mcp.sparkles"] ?? "", /mean/);
  assert.match(issues["mcp.sparkles"] ?? "", /expose_capabilities/);
});

void test("a tool server of a configuration is a process or a URL, without other keys", () => {
  const issues = issuesOf({
    mcp: {
      expose_capabilities: ["a", 7, ""],
      servers: {
        both: { command: "x", url: "http://127.0.0.1/mcp" },
        neither: { arg: [] },
        process: { command: "x", args: ["a", 1], env: { "A B": "x", PORT: 3000 }, cwd: "", url: undefined, headers: {} },
        address: { url: "ftp://example.org", headers: { "X Y": "a", good: "a\r\nb: c" }, args: [] },
        secret: { url: "http://me:word@example.org" },
        "no name": { command: "x" },
        text: "node server.js",
      },
    },
  });
  assert.deepEqual(
    Object.keys(issues).toSorted(),
    [
      "mcp.expose_capabilities[1]",
      "mcp.expose_capabilities[2]",
      "mcp.servers.address.args",
      "mcp.servers.address.headers.good",
      'mcp.servers.address.headers["X Y"]',
      "mcp.servers.address.url",
      "mcp.servers.both",
      "mcp.servers.neither",
      "mcp.servers.neither.arg",
      "mcp.servers.process.args[1]",
      "mcp.servers.process.cwd",
      "mcp.servers.process.env.PORT",
      'mcp.servers.process.env["A B"]',
      "mcp.servers.process.headers",
      "mcp.servers.secret.url",
      "mcp.servers.text",
      'mcp.servers["no name"]',
    ].toSorted(),
  );
  assert.match(issues["mcp.servers.neither.arg"] ?? "", /mean args\?/);
});

void test("a configuration that is not an object is refused, and one of many mistakes has a short message", () => {
  for (const value of [[], "actors", 3, true]) assert.deepEqual(issuesOf(value), { "": "It must be an object." });
  assert.throws(
    () => readConfig(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${"k".repeat(1_000)}${at}`, at]))),
    (error: unknown) => isTroupeError(error, "BAD_DEFINITION") && error.message.length < 20_000 && error.message.endsWith("and 9950 more."),
  );
});

void test("a key of a configuration that objects inherit is handled like any other", () => {
  assert.deepEqual(readConfig(JSON.parse('{"mcp": {"servers": {"constructor": {"command": "x"}}}}')).mcp.servers, {
    constructor: { command: "x" },
  });
  const hostile: unknown = JSON.parse('{"__proto__": {"actors": {}}}');
  assert.deepEqual(Object.keys(issuesOf(hostile)), ["__proto__"]);
  assert.deepEqual(Object.keys(issuesOf(JSON.parse('{"mcp": {"servers": {"__proto__": {"command": "x"}}}}'))), ["mcp.servers.__proto__"]);
});
