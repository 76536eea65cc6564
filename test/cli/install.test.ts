// `troupe install` as it is typed: what it prints, what it writes and only then, and that the client's entry starts the server.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as z from "zod";
import { root } from "../serve-child.ts";
import { lines, type Ran } from "./run.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "troupe-install-")));
after(() => rmSync(base, { recursive: true, force: true }));

const home = join(base, "home");
const project = join(base, "project");
const settings = join(home, ".cursor", "mcp.json");

const troupe = (...args: readonly string[]): Promise<Ran> =>
  new Promise((done) => {
    execFile(
      process.execPath,
      [join(root, "bin/troupe.js"), ...args],
      {
        cwd: project,
        env: { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, ".config"), CODEX_HOME: join(home, ".codex"), DOOR_TOKEN: "s3cret" },
      },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

const write = (file: string, text: string): void => {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
};

beforeEach(() => {
  rmSync(home, { recursive: true, force: true });
  rmSync(project, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  write(join(project, "door.ts"), `export { default } from ${JSON.stringify(join(root, "examples/counter/index.ts"))};\n`);
});

const OTHERS = '{\n    // mine\n    "mcpServers": { "other": { "url": "http://x/", "headers": { "Authorization": "private" } } }\n}\n';

test("install prints the file and the change, and writes with --yes only; --remove gives back the original bytes #cli.install", async () => {
  write(settings, OTHERS);
  const planned = await troupe("install", "cursor", "door.ts");
  assert.equal(planned.code, 0, planned.stderr);
  assert.match(planned.stdout, /^door would be added to the settings of Cursor: .*\/\.cursor\/mcp\.json$/m);
  assert.match(planned.stdout, /^\+.*"serve"/m);
  assert.match(planned.stdout, /add --yes to write it/);
  assert.equal(readFileSync(settings, "utf8"), OTHERS);

  const mode = statSync(settings).mode;
  const written = await troupe("install", "cursor", "door.ts", "--yes", "--json");
  const [result] = lines(written.stdout);
  assert.equal(Object(result).action, "add");
  assert.equal(Object(result).written, true);
  assert.match(readFileSync(settings, "utf8"), /\/\/ mine[^]*"other"[^]*"door"/);
  assert.equal(statSync(settings).mode, mode);
  assert.deepEqual(readdirSync(join(home, ".cursor")), ["mcp.json"]);

  assert.match((await troupe("install", "cursor", "door.ts", "--yes")).stdout, /^door is already in/);
  const removed = await troupe("install", "cursor", "--name", "door", "--remove", "--yes");
  assert.equal(removed.code, 0, removed.stderr);
  assert.equal(readFileSync(settings, "utf8"), OTHERS);
  const again = await troupe("install", "cursor", "--name", "door", "--remove", "--yes", "--json");
  assert.equal(again.code, 4);
  assert.equal(Object(lines(again.stderr)[0]).error.code, "NOT_FOUND");
});

test("a file that install made is deleted by --remove, and a link stays a link", async () => {
  assert.equal((await troupe("install", "codex", "door.ts", "--yes")).code, 0);
  const made = join(home, ".codex", "config.toml");
  assert.equal(statSync(made).mode & 0o777, 0o600);
  assert.equal((await troupe("install", "codex", "--name", "door", "--remove", "--yes")).code, 0);
  assert.equal(existsSync(made), false);

  write(join(base, "dotfiles.json"), "{}\n");
  mkdirSync(join(home, ".cursor"));
  symlinkSync(join(base, "dotfiles.json"), settings);
  assert.equal((await troupe("install", "cursor", "door.ts", "--yes")).code, 0);
  assert.equal(lstatSync(settings).isSymbolicLink(), true);
  assert.match(readFileSync(join(base, "dotfiles.json"), "utf8"), /"door"/);

  rmSync(join(base, "dotfiles.json"));
  const dangling = await troupe("install", "cursor", "door.ts", "--yes");
  assert.equal(dangling.code, 1);
  assert.match(dangling.stderr, /link that leads to nothing/);
  assert.equal(lstatSync(settings).isSymbolicLink(), true);
});

test("a home folder that is empty is no home folder, and not the current one", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "bin/troupe.js"), "install", "cursor", "door.ts", "--yes"], {
    cwd: project,
    env: { ...process.env, HOME: "" },
    encoding: "utf8",
  });
  assert.equal(status, 2);
  assert.match(stderr, /set HOME/);
  assert.deepEqual(readdirSync(project), ["door.ts"]);
});

test("a file that cannot be parsed is left as it is, and the entry to add by hand is printed", async () => {
  write(settings, '{ "mcpServers": {\n');
  const { code, stderr } = await troupe("install", "cursor", "door.ts", "--yes");
  assert.equal(code, 1);
  assert.match(stderr, /mcp\.json is left as it is: it is not JSON \(CloseBraceExpected at line 2/);
  assert.match(stderr, /add this by hand:\n\{[^]*"door"/);
  assert.equal(readFileSync(settings, "utf8"), '{ "mcpServers": {\n');
});

test("a token stays in the environment, unless it is to be written, and is never printed", async () => {
  const reference = await troupe("install", "cursor", "https://mcp.example/", "--token-env", "DOOR_TOKEN", "--yes");
  assert.equal(reference.code, 0, reference.stderr);
  const text = readFileSync(settings, "utf8");
  assert.match(text, /"mcp-example"[^]*"url": "https:\/\/mcp\.example\/mcp"[^]*"Bearer \$\{env:DOOR_TOKEN\}"/);
  const desktop = await troupe("install", "claude-desktop", "https://mcp.example/mcp", "--token-env", "DOOR_TOKEN", "--yes");
  assert.equal(desktop.code, 2);
  const clear = await troupe("install", "claude-desktop", "https://mcp.example/mcp", "--token-env", "DOOR_TOKEN", "--write-token", "--yes");
  assert.equal(clear.code, 0, clear.stderr);
  assert.match(readFileSync(join(home, ".config", "Claude", "claude_desktop_config.json"), "utf8"), /Bearer s3cret/);
  assert.doesNotMatch(clear.stdout + clear.stderr, /s3cret/);
  assert.match(clear.stdout, /Bearer \*{8}/);
});

test("the change shows nothing of other servers' settings but the lines next to it", async () => {
  write(settings, JSON.stringify({ mcpServers: { a: { env: { KEY: "private" }, command: "x" }, b: { command: "y" } } }, null, 2));
  const { stdout } = await troupe("install", "cursor", "door.ts");
  assert.doesNotMatch(stdout, /private/);
});

test("a project's settings give name, module and address; with --stdio the client starts it", async () => {
  write(join(project, "troupe.config.ts"), 'export default { modules: "./door.ts", name: "The door", http: "0.0.0.0:4000" };\n');
  const [http] = lines((await troupe("install", "claude-code", "--json")).stdout);
  assert.equal(Object(http).name, "The-door");
  assert.match(Object(http).diff.join("\n"), /"url": "http:\/\/127\.0\.0\.1:4000\/mcp"/);
  const [stdio] = lines((await troupe("install", "claude-code", "--stdio", "--json")).stdout);
  assert.match(Object(stdio).diff.join("\n"), /"--config",[^]*troupe\.config\.ts",[^]*"--stdio"/);
});

test("a Troupe outside of the project cannot be named in a file that is shared with it", async () => {
  const outside = await troupe("install", "vscode", "door.ts", "--scope", "project");
  assert.equal(outside.code, 2);
  assert.match(outside.stderr, /outside of/);
  assert.equal((await troupe("install", "goose", "door.ts", "--scope", "project")).code, 2);
});

test("without a client, install lists them, and which of them have the server", async () => {
  await troupe("install", "cursor", "door.ts", "--yes");
  write(join(home, ".gemini", "settings.json"), "{");
  const { stdout } = await troupe("install", "--name", "door", "--json");
  const rows = z.array(z.object({ client: z.string(), found: z.boolean(), installed: z.boolean().optional() })).parse(lines(stdout));
  assert.equal(rows.length, 7);
  assert.deepEqual(
    rows.filter(({ client }) => client === "cursor" || client === "gemini").map(({ found, installed }) => [found, installed]),
    [
      [true, true],
      [true, undefined],
    ],
  );
  assert.match((await troupe("install")).stdout, /^cursor +yes +\//m);
});

for (const [args, says] of [
  [["cursor"], /name a module/],
  [["cursor", "nothing.ts"], /There is no .*nothing\.ts/],
  [["cursor", "door.ts", "--name", "a b"], /--name takes/],
  [["cursor", "http://127.0.0.1:3000/mcp"], /give one with --name/],
  [["cursor", "http://u:p@x.example/mcp"], /no user or password/],
  [["cursor", "door.ts", "--token-env", "A"], /for a server at an address/],
  [["cursor", "http://x.example/", "--token-env", "Bearer abc"], /name of an environment variable/],
  [["cursor", "http://x.example/", "--write-token"], /needs --token-env/],
  [["cursor", "http://x.example/", "--token-env", "NOT_SET_ANYWHERE", "--write-token"], /is not set/],
  [["cursor", "door.ts", "--stdio", "--http"], /cannot be used with/],
  [["emacs", "door.ts"], /Allowed choices are claude-code/],
] as const)
  test(`install ${args.join(" ")} ends with 2 and says what to give`, async () => {
    const { code, stderr } = await troupe("install", ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  });

test("an official client starts the server by the entry that was written", async () => {
  assert.equal((await troupe("install", "cursor", "door.ts", "--yes")).code, 0);
  const { mcpServers } = z
    .object({ mcpServers: z.object({ door: z.object({ command: z.string(), args: z.array(z.string()) }) }) })
    .parse(JSON.parse(readFileSync(settings, "utf8")));
  const client = new Client({ name: "test", version: "1" });
  // Not in the project, and with little in its environment, as desktop applications start it.
  await client.connect(new StdioClientTransport({ ...mcpServers.door, cwd: home, stderr: "ignore" }));
  try {
    const { tools } = await client.listTools();
    assert.ok(tools.length > 0);
  } finally {
    await client.close();
  }
});
