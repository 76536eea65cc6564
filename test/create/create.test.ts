// A project from each template: its types, its tests, its server, and a call by an official client.
import assert from "node:assert/strict";
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as z from "zod";
import { type Template, TEMPLATES } from "../../src/cli/commands/new.ts";
import { connect, type Player } from "../clients.ts";
import { installPinned } from "../install-pinned.ts";
import { command, packBoth, root, start, succeed } from "./packages.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Calls of an official client in a new project. */
const CALLS: Readonly<Record<Template, (client: Player) => Promise<void>>> = {
  async actor(client) {
    assert.equal((await client.call("add", { item: "milk" })).text, "milk is on the list.");
    assert.equal((await client.call("show")).text, "milk");
  },
  async server(client) {
    assert.deepEqual((await client.call("convert", { celsius: 100, to: "kelvin" })).structured, { value: 373.15 });
  },
  async team(client) {
    assert.deepEqual((await client.call("add", { title: "Water the plants" })).structured, { task: "T-1" });
    await client.call("task__take", { task: "T-1" });
    assert.equal((await client.call("nudge", { task: "T-1" })).text, "Reminded.");
    assert.match(await client.read("inbox://mine"), /Still waiting for you: T-1/);
  },
  async guest(client) {
    await client.call("start_actor", { manifest: "counter.toml", name: "mine" });
    await client.call("send_message", { actor_id: "mine", data: base64("add") });
    assert.match((await client.call("request_message", { actor_id: "mine", data: base64("?") })).text, /"response_text":"1"/);
  },
};

const TEMPLATE_NAMES = z.array(z.enum(["actor", "server", "team", "guest"])).parse(Object.keys(TEMPLATES));

describe("a new project", () => {
  const home = mkdtempSync(join(tmpdir(), "troupe-create-"));
  let packages = { troupe: "", create: "" };
  const create = (...args: readonly string[]) =>
    command(home, process.execPath, join(home, "create-troupe/bin/create-troupe.js"), "--troupe", packages.troupe, ...args);

  before(async () => {
    packages = await packBoth(home);
    await installPinned(join(root, "examples/wasm"));
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  test("npm create makes and installs it, and prints the next two commands #create.project", async () => {
    const args = ["--", "create-troupe", "actor", "--troupe", packages.troupe, "--no-git"];
    const stdout = await succeed(home, "npm", "exec", "--yes", "--package", packages.create, ...args);
    assert.match(stdout, /^Made actor from the template actor: 1\d files in actor\.\n\nNext:\n {2}cd actor\n {2}npm start\n/);
    // The other projects of this file find these packages in the folder above them, and the tools that only guests need.
    cpSync(join(home, "actor/node_modules"), join(home, "node_modules"), { recursive: true, verbatimSymlinks: true });
    const tools = join(root, "examples/wasm/node_modules");
    for (const name of readdirSync(tools).filter((one) => !one.startsWith(".") && !readdirSync(join(home, "node_modules")).includes(one)))
      symlinkSync(join(tools, name), join(home, "node_modules", name));
  });

  describe("from a template", { concurrency: 2 }, () => {
    for (const template of TEMPLATE_NAMES)
      test(`${template} compiles, passes its tests, and answers an official client #create.templates`, async () => {
        if (template !== "actor")
          assert.equal((await create(template, "--template", template, "--no-install", "--no-git", "--json")).code, 0);
        const folder = join(home, template);
        const lines = globSync("src/*.ts", { cwd: folder }).map((file) => readFileSync(join(folder, file), "utf8").split("\n").length);
        assert.ok(Math.max(0, ...lines) <= 81, "what a newcomer reads first is short");
        await succeed(folder, "npm", "run", "types");
        assert.match(await succeed(folder, "npm", "test"), /ℹ pass [1-9]\d*\nℹ fail 0\n/);
        await using started = await start(folder);
        const { http, theater = http } = started.ready;
        const key = /^ {2}([0-9a-f]{64})$/m.exec(started.before)?.[1];
        const headers = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
        await using client = await connect({ http: String(theater) }, { sdk: "v2", era: "legacy" }, headers);
        await CALLS[template](client);
      });
  });

  test("troupe new makes the same files as npm create #create.same", async () => {
    const options = ["--template", "team", "--troupe", packages.troupe, "--no-install", "--no-git", "--json"];
    const made = await succeed(join(home, "actor"), "npm", "exec", "--", "troupe", "new", "team", ...options);
    assert.deepEqual(Object(JSON.parse(made))["next"], ["cd team", "npm install", "npm start"]);
    const files = (folder: string) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/keys\.json|\.troupe/.test(join(entry.parentPath, entry.name)))
        .map((entry) => join(entry.parentPath, entry.name))
        .toSorted()
        .map((file) => [file.slice(folder.length), readFileSync(file, "base64")]);
    assert.deepEqual(files(join(home, "actor/team")), files(join(home, "team")));
  });

  test("a mistake is one sentence, as JSON too, and writes nothing #create.refusals", async () => {
    mkdirSync(join(home, "full/src"), { recursive: true });
    for (const [args, code, message] of [
      [["full"], "DIRECTORY_NOT_EMPTY", /has src\..*--force/],
      [["Shop"], "PROJECT_NAME", /Name the folder "shop"/],
      [["shop", "--template", "tem"], "UNKNOWN_TEMPLATE", /do you mean "team"\?/],
      [["shop", "--templat", "team"], "USAGE", /Did you mean --template\?/],
    ] as const) {
      const ran = await command(home, process.execPath, join(root, "create-troupe/bin/create-troupe.js"), ...args, "--json");
      assert.deepEqual([ran.code, ran.stdout], [2, ""]);
      const { error } = Object(JSON.parse(ran.stderr));
      assert.equal(error.code, code);
      assert.match(error.message, message);
    }
    assert.deepEqual(readdirSync(join(home, "full")), ["src"]);
    assert.equal(readdirSync(home).includes("shop"), false);
  });

  test("if npm fails, the project exists, and the error names the command to run #create.refusals", async () => {
    writeFileSync(join(home, "npm-cli.js"), "process.exit(1);");
    const program = join(root, "create-troupe/bin/create-troupe.js");
    const npm = `npm_execpath=${join(home, "npm-cli.js")}`;
    const ran = await command(home, "env", npm, process.execPath, program, "broken", "--no-git", "--json");
    assert.equal(ran.code, 1);
    const { error } = Object(JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? ""));
    assert.equal(error.code, "INSTALL_FAILED");
    assert.match(error.message, /npm install failed.*Then run: cd broken && npm install && npm start\.$/);
    assert.ok(readdirSync(join(home, "broken")).includes("package.json"));
  });
});

const manifest = z.looseObject({
  version: z.string().default(""),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});
const manifestOf = (file: string) => manifest.parse(JSON.parse(readFileSync(join(root, file), "utf8")));

test("templates depend on the versions that this repository is tested with", () => {
  const own = manifestOf("package.json");
  const pinned: Readonly<Record<string, string>> = {
    ...own.dependencies,
    ...own.devDependencies,
    ...manifestOf("examples/wasm/package.json").dependencies,
  };
  for (const template of TEMPLATE_NAMES) {
    const { dependencies, devDependencies } = manifestOf(`create-troupe/templates/${template}/package.json`);
    const { troupe, ...others } = { ...dependencies, ...devDependencies };
    assert.equal(troupe, "*", "the command writes the version");
    for (const [name, range] of Object.entries(others)) assert.equal(range, `^${pinned[name]}`, `${name} of ${template}`);
  }
  assert.equal(manifestOf("create-troupe/package.json").version, own.version);
});

test("the guest template's library is the one of the examples", () => {
  const same = (file: string, template: string): void =>
    assert.equal(
      readFileSync(join(root, "create-troupe/templates/guest/guest", template), "utf8"),
      readFileSync(join(root, "examples/wasm", file), "utf8"),
      file,
    );
  for (const file of globSync("lib/*.ts", { cwd: join(root, "examples/wasm") })) same(file, file);
  same("wit/theater.wit", "theater.wit");
});

test("a Node that is too old gets one sentence", async () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.11.0"})';
  const program = join(root, "create-troupe/bin/create-troupe.js");
  const { code, stderr } = await command(root, process.execPath, "--import", pretend, program, "--version");
  assert.deepEqual(
    [code, stderr.startsWith("create-troupe needs Node 24 or newer, and this is Node 20.11.0. "), stderr.trim().split("\n").length],
    [1, true, 1],
  );
  // An old Node must be able to parse the file up to the check.
  assert.doesNotMatch(readFileSync(program, "utf8").split("process.exit(1)")[0] ?? "", /^import |\bawait\b|\busing\b/m);
});

test("the README of create-troupe and the guide list every template", () => {
  for (const file of ["create-troupe/README.md", "docs/guide/first-server.md"])
    for (const name of TEMPLATE_NAMES)
      assert.ok(readFileSync(join(root, file), "utf8").includes(`| \`${name}\` | `), `${name} in ${basename(file)}`);
});
