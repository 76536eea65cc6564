import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempDisposableSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Command } from "commander";
import { defineConfig } from "troupe/config";
import { addServeOptions } from "../../src/cli/serve-options.ts";
import { PROPERTIES } from "../../src/cli/settings.ts";
import { root, serveChild } from "../serve-child.ts";
import { lines, type Ran } from "./run.ts";

const DOOR = join(root, "examples/door/index.ts");

/** A project: its files by name. */
const projectOf = (files: Readonly<Record<string, string>>): { readonly path: string } & Disposable => {
  const folder = mkdtempDisposableSync(join(realpathSync(tmpdir()), "troupe-config-"));
  mkdirSync(join(folder.path, "src/deep"), { recursive: true });
  mkdirSync(join(folder.path, ".git"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  return { path: folder.path, [Symbol.dispose]: () => folder.remove() };
};

const troupeIn = (cwd: string, env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> =>
  new Promise((settle) => {
    const options = { cwd, timeout: 60_000, env: { ...process.env, ...env } };
    execFile(process.execPath, [join(root, "bin/troupe.js"), ...args], options, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });

const configOf = (settings: string): string => `import { defineConfig } from "troupe/config";\nexport default defineConfig(${settings});\n`;

describe("troupe.config.ts", () => {
  test("every flag of serve is a property, and every property is a flag", () => {
    const { options } = addServeOptions(new Command());
    // A flag that can be turned off has two options.
    const flags = new Set(options.map((option) => option.attributeName()));
    assert.deepEqual(["modules", ...flags].toSorted(), [...PROPERTIES].toSorted());
  });

  test("defineConfig refuses what is no setting when it is compiled", () => {
    const settings = defineConfig({ modules: ["./door.ts"], http: 3000, names: "dots", claims: ["roles"] });
    assert.deepEqual(settings, { modules: ["./door.ts"], http: 3000, names: "dots", claims: ["roles"] });
    // @ts-expect-error It is `http`.
    defineConfig({ htpp: 3000 });
    // @ts-expect-error There is no such style.
    defineConfig({ names: "dot" });
    // @ts-expect-error Claims are a list.
    defineConfig({ claims: "roles" });
  });

  test("troupe serve alone serves the project, from a folder below it too", async () => {
    using project = projectOf({ "troupe.config.ts": configOf(`{ modules: ${JSON.stringify(DOOR)}, name: "porch", names: "dots" }`) });
    await using served = await serveChild([], { cwd: join(project.path, "src/deep"), data: join(project.path, "state") });
    const answer = await fetch(served.ready.http ?? "", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      }),
    });
    assert.match(await answer.text(), /"serverInfo":\{"name":"porch"/);
  });

  test("flags win over the environment, which wins over the file, and config prints which it was", async () => {
    const settings = `{ modules: ["./a.ts", "shop=./b.ts"], http: 4000, rate: 7, log: "warn", sse: true, packets: true, tcp: "./run.sock", auth: false }`;
    using project = projectOf({ "troupe.config.ts": `console.log("noise");\n${configOf(settings)}` });
    const folder = join(project.path, "src");
    const env = { TROUPE_RATE: "8", TROUPE_LOG: "error", TROUPE_SSE: "false" };
    const ran = await troupeIn(folder, env, "config", "--json", "--log", "debug");
    assert.equal(ran.code, 0, ran.stderr);
    const file = join(project.path, "troupe.config.ts");
    const found = new Map(lines(ran.stdout).map((line) => [Object(line).name, line]));
    const fromFile = (name: string, value: unknown): object => ({ name, value, source: "file", file });
    assert.deepEqual(found.get("modules"), fromFile("modules", [join(project.path, "a.ts"), `shop=${join(project.path, "b.ts")}`]));
    assert.deepEqual(found.get("http"), fromFile("http", "127.0.0.1:4000"));
    assert.deepEqual(found.get("sse"), fromFile("sse", true));
    assert.deepEqual(found.get("packets"), fromFile("packets", true));
    assert.deepEqual(found.get("tcp"), fromFile("tcp", join(project.path, "run.sock")));
    assert.deepEqual(found.get("auth"), fromFile("auth", false));
    assert.deepEqual(found.get("rate"), { name: "rate", value: 8, source: "environment" });
    assert.deepEqual(found.get("log"), { name: "log", value: "debug", source: "flag" });
    assert.deepEqual(found.get("data"), { name: "data", value: join(project.path, ".troupe"), source: "default" });
    const people = await troupeIn(folder, {}, "config");
    assert.match(people.stdout, /^With .*troupe\.config\.ts:\nsetting +value +source\n/);
    assert.match(people.stdout, /\nhttp +127\.0\.0\.1:4000 +file\n/);
  });

  test("a mistake names the file, the property and what it takes", async () => {
    for (const [settings, sentence] of [
      [`{ htpp: 3000 }`, /troupe\.config\.ts has a property "htpp" that is no setting, do you mean "http"\? There are modules, data/],
      [`{ http: "nowhere:port" }`, /troupe\.config\.ts: "http": --http takes \[host:\]port/],
      [`{ http: true }`, /troupe\.config\.ts: "http": it has to be "host:port", or a port\./],
      [`{ claims: "roles" }`, /troupe\.config\.ts: "claims": it has to be a list of texts\./],
      [`{ names: "dot" }`, /troupe\.config\.ts: "names": Allowed choices are underscores, dots\./],
      [`{ auth: true }`, /troupe\.config\.ts: "auth": it has to be false\./],
      [`{ grace: "soon" }`, /troupe\.config\.ts: "grace": it has to be a number\./],
      [`{ jwks: "", issuer: "x" }`, /troupe\.config\.ts: "jwks": It must name a URL or a file\./],
      [`{ apiKeys: "" }`, /troupe\.config\.ts: "apiKeys": It must name a file\./],
      [`{ secretFile: "" }`, /troupe\.config\.ts: "secretFile": It must name a file\./],
      [`{ manifests: "" }`, /troupe\.config\.ts: "manifests": It must name a folder\./],
      [`{ modules: ["./door.ts", ""] }`, /troupe\.config\.ts: "modules": it has to be a path, or a list of them\./],
      [`{ sessionTtl: "soon" }`, /troupe\.config\.ts: "sessionTtl": It must be a time such as 30d/],
    ] as const) {
      using project = projectOf({ "troupe.config.js": `export default ${settings};\n` });
      writeFileSync(join(project.path, "package.json"), '{ "type": "module" }');
      const ran = await troupeIn(project.path, {}, "serve");
      assert.equal(ran.code, 2, `${settings}: ${ran.stderr}`);
      assert.match(ran.stderr.replace("troupe.config.js", "troupe.config.ts"), sentence);
    }
    for (const [args, sentence] of [
      [["config", "--jwks", ""], /It must name a URL or a file\./],
      [["letters", "--secret-file", ""], /It must name a file\./],
      [["serve", ""], /There is no module without a name: name a TypeScript or JavaScript file/],
    ] as const) {
      const ran = await troupeIn(root, {}, ...args);
      assert.deepEqual([ran.code, sentence.test(ran.stderr)], [2, true], ran.stderr);
    }
    using project = projectOf({ "troupe.config.ts": "export const settings = {};\n" });
    assert.match(
      (await troupeIn(project.path, {}, "config")).stderr,
      /has no default export that is settings: export default defineConfig/,
    );
    const wrong = await troupeIn(project.path, { TROUPE_GRACE: "soon" }, "config", "--no-config");
    assert.deepEqual([wrong.code, wrong.stderr], [2, "troupe: TROUPE_GRACE: It must be a number of 0 or more.\n"]);
  });

  test("an empty list is the same as none", async () => {
    const lists = ["scope", "claims", "requireScope", "allowHost", "allowOrigin"];
    using project = projectOf({ "troupe.config.ts": configOf(`{ ${lists.map((name) => `${name}: []`).join(", ")} }`) });
    const ran = await troupeIn(project.path, {}, "config", "--json");
    assert.equal(ran.code, 0, ran.stderr);
    const found = new Set(lines(ran.stdout).map((line) => Object(line).name));
    assert.deepEqual(
      lists.filter((name) => found.has(name)),
      [],
    );
    using open = projectOf({ "troupe.config.ts": configOf(`{ identityKey: [] }`) });
    const refused = await troupeIn(open.path, {}, "config");
    assert.match(refused.stderr, /identityKey.* has to be a list of at least one text/, "anybody could send turns to a node without a key");
  });

  test("without modules anywhere serve says where to name them", async () => {
    using project = projectOf({ "troupe.config.ts": configOf(`{ http: 0 }`), "other.config.ts": configOf(`{ log: "error" }`) });
    const none = await troupeIn(project.path, {}, "serve", "--no-config");
    assert.deepEqual([none.code, /name a module, as in troupe serve door\.ts/.test(none.stderr)], [2, true], none.stderr);
    const without = await troupeIn(project.path, {}, "dev");
    assert.match(without.stderr, /give modules in .*troupe\.config\.ts, or name one/);
    const other = await troupeIn(project.path, {}, "config", "--config", "other.config.ts", "--json");
    assert.match(other.stdout, /"name":"log","value":"error","source":"file"/);
    assert.doesNotMatch(other.stdout, /"name":"http"/);
    assert.match((await troupeIn(project.path, {}, "config", "--config", "nowhere.ts")).stderr, /There is no file .*nowhere\.ts/);
  });

  test("a file that others may write is not run from a folder below it", async () => {
    using project = projectOf({ "troupe.config.ts": configOf(`{ log: "error" }`) });
    chmodSync(join(project.path, "troupe.config.ts"), 0o666);
    const ran = await troupeIn(join(project.path, "src"), {}, "config");
    assert.deepEqual([ran.code, /others may write it, so it is not run/.test(ran.stderr)], [2, true], ran.stderr);
    assert.equal((await troupeIn(project.path, {}, "config")).code, 0);
  });
});
