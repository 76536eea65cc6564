// `troupe bundle` and `troupe publish` as they are typed. What a bundle does is in test/package.test.ts, since it needs the built package.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { root } from "../serve-child.ts";
import { lines, type Ran } from "./run.ts";

const project = mkdtempSync(join(tmpdir(), "troupe-share-"));
after(() => rmSync(project, { recursive: true, force: true }));

const troupe = (...args: readonly string[]): Promise<Ran> =>
  new Promise((done) => {
    execFile(process.execPath, [join(root, "bin/troupe.js"), ...args], { cwd: project }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

const describeProject = (manifest: object): void => writeFileSync(join(project, "package.json"), JSON.stringify(manifest));

test("publish --dry-run prints the description alone, and without it only how to publish", async () => {
  describeProject({ name: "door", version: "1.0.0", description: "A door.", repository: "github:ann/door" });
  const described = await troupe("publish", "--dry-run");
  assert.equal(described.code, 0, described.stderr);
  assert.equal(JSON.parse(described.stdout).name, "io.github.ann/door");
  assert.match(described.stderr, /"mcpName"/);
  const [line] = lines((await troupe("publish", "--dry-run", "--registry-name", "example.door/door", "--json")).stdout);
  assert.equal(Object(line).name, "example.door/door");
  const steps = await troupe("publish");
  assert.equal(steps.code, 0);
  assert.match(steps.stdout, /not publish by itself[^]*mcp-publisher publish/);
});

test("publish says which property of package.json is missing", async () => {
  describeProject({ name: "door", version: "1.0.0", repository: "github:ann/door" });
  const { code, stderr } = await troupe("publish", "--dry-run", "--json");
  assert.equal(code, 2);
  const [line] = lines(stderr);
  assert.equal(Object(line).error.code, "USAGE");
  assert.match(Object(line).error.message, /needs "description"/);
});

test("publish asks for a package.json with a name where there is none", async () => {
  rmSync(join(project, "package.json"), { force: true });
  const absent = await troupe("publish", "--dry-run");
  assert.equal(absent.code, 2);
  assert.match(absent.stderr, /package\.json does not exist: run npm init/);
  describeProject({ version: "1.0.0" });
  assert.match((await troupe("publish", "--dry-run")).stderr, /package\.json has no "name"/);
});

test("bundle writes nothing where there is nothing to serve, or an option is wrong", async () => {
  describeProject({ name: "door", version: "1.0.0" });
  writeFileSync(join(project, "empty.ts"), "export const nothing = 1;\n");
  for (const [args, says] of [
    [[], /nothing to serve/],
    [["missing.ts"], /no .*missing\.ts/],
    [["empty.ts"], /exports nothing to serve/],
    [["empty.ts", "--env", "A=b"], /name of an environment variable/],
    [["empty.ts", "--name", "a b"], /--name takes/],
  ] as const) {
    const { code, stderr } = await troupe("bundle", ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  assert.equal(existsSync(join(project, "door.mcpb")), false);
});

test("bundle refuses a configuration of capabilities that has headers or variables for other servers", async () => {
  describeProject({ name: "door", version: "1.0.0", type: "module" });
  const code =
    'import { capability } from "troupe/packet";\nexport const ask = capability("ask", { intent: "Asks", execute: () => ({}) });\n';
  writeFileSync(join(project, "ask.ts"), code);
  writeFileSync(join(project, "troupe.config.ts"), 'export default { modules: "./ask.ts", packetConfig: "./capabilities.json" };');
  const servers = {
    remote: { url: "https://other.example/mcp", headers: { authorization: "Bearer hunter2" } },
    local: { command: "other", env: { TOKEN: "hunter2" } },
    plain: { command: "plain" },
  };
  writeFileSync(join(project, "capabilities.json"), JSON.stringify({ mcp: { servers } }));
  try {
    const refused = await troupe("bundle");
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /has values for remote \(headers\), local \(env\), which everybody/u);
    assert.doesNotMatch(refused.stderr, /hunter2/u);
    assert.equal(existsSync(join(project, "door.mcpb")), false);
  } finally {
    for (const file of ["troupe.config.ts", "capabilities.json", "ask.ts"]) rmSync(join(project, file));
  }
});
