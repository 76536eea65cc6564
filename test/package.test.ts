// The package as users install it: the tarball in an empty project, README's example, `npx troupe serve`.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { unzipSync } from "fflate";
import * as z from "zod";

const root = resolve(import.meta.dirname, "..");
const run = promisify(execFile);

/** The first ```ts block of README. */
export const readmeExample = (): string => {
  const text = readFileSync(join(root, "README.md"), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(text)?.[1];
  assert.ok(example, "README has an example");
  return example;
};

/** Serves a module through `npx` and lists its tools by a plain request. */
const serveAndList = async (project: string, module: string): Promise<string> => {
  // A new directory per server, since the previous server may still be draining.
  const data = mkdtempSync(join(project, "data-"));
  const child = spawn("npx", ["--no", "troupe", "serve", module, "--http", "127.0.0.1:0", "--data", data, "--json"], {
    cwd: project,
    stdio: ["ignore", "pipe", "inherit"],
    // A process group of its own, since npx does not forward signals.
    detached: true,
  });
  const ended = new Promise<number | null>((settle) => child.once("exit", settle));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const ready: unknown = JSON.parse(line);
      assert.ok(typeof ready === "object" && ready !== null && "http" in ready);
      const response = await fetch(String(ready.http), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/list",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/list",
          params: {
            _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} },
          },
        }),
      });
      return await response.text();
    }
    throw new Error("troupe serve ended before it was ready");
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await ended;
  }
};

describe("the package", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-pack-"));
  // One project for all tests, each of which adds packages it needs: an installation per test took most of the time.
  const project = join(folder, "project");
  let tarball = "";

  const install = (...packages: readonly string[]): Promise<unknown> =>
    run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", ...packages], { cwd: project });

  before(async () => {
    await run(process.execPath, ["scripts/build.ts"], { cwd: root });
    const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root });
    const packed: unknown = JSON.parse(stdout);
    const [first]: unknown[] = Array.isArray(packed) ? packed : typeof packed === "object" && packed !== null ? Object.values(packed) : [];
    assert.ok(typeof first === "object" && first !== null && "filename" in first);
    tarball = join(folder, String(first.filename));
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
    await install(tarball);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  const bundle = async (cwd: string, ...args: readonly string[]) => {
    const { stdout } = await run("npx", ["--no", "troupe", "bundle", ...args, "--json"], { cwd });
    return z.object({ bundled: z.boolean(), sha256: z.string() }).parse(JSON.parse(stdout));
  };

  /** Starts a bundle in another folder, as clients do: neither the project nor its packages are nearby. */
  const startBundle = async (zip: Uint8Array): Promise<Client> => {
    const unpacked = mkdtempSync(join(folder, "unpacked-"));
    for (const [path, contents] of Object.entries(unzipSync(zip))) {
      mkdirSync(join(unpacked, path, ".."), { recursive: true });
      writeFileSync(join(unpacked, path), contents);
    }
    const { server } = z
      .object({ server: z.object({ mcp_config: z.object({ args: z.array(z.string()) }) }) })
      .parse(JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8")));
    const args = server.mcp_config.args.map((arg) => arg.replace("${__dirname}", unpacked).replace("${HOME}", unpacked));
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: unpacked, stderr: "inherit" }));
    return client;
  };

  test("names only files that it contains", async () => {
    await run(process.execPath, [join(root, "node_modules/publint/src/cli.js"), tarball, "--level", "error"], { cwd: root });
  });

  test("a served module's imports of the package resolve to the Troupe that serves it", async () => {
    writeFileSync(
      join(project, "whole.js"),
      `import * as troupe from "troupe";
      import * as contract from "troupe/contract";
      import { LocalEngine } from "troupe/engine";
      import "troupe/packet-testing";
      const two = Object.keys(contract).filter((name) => name in troupe && troupe[name] !== contract[name]);
      if (two.length > 0) throw new Error("There are two of " + two.join(", "));
      const engine = await LocalEngine.start({ kinds: [] });
      const why = await engine.call({ to: "no/body", action: "x", args: {} }).catch((error) => error);
      if (!(why instanceof troupe.TroupeError)) throw new Error("The engine's error is of another Troupe: " + why);
      for (const name of ["typo", "main", "worker", "cli", "platform", "schema"]) {
        const code = await import("troupe/" + name).then(() => "there", (error) => error.code);
        if (!["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"].includes(code)) throw new Error("troupe/" + name + ": " + code);
      }
      export const bell = troupe.actor("bell", { description: "A bell.", per: "shared", initial: () => ({}), tools: { ring: { description: "Ring.", run: () => "Ding." } } });`,
    );
    assert.match(await serveAndList(project, "whole.js"), /"ring"/);
  });

  test("troupe docs finds pages in the package", async () => {
    const client = new Client({ name: "test", version: "1" });
    const args = [join(project, "node_modules/troupe/bin/troupe.js"), "docs"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
    const { structuredContent } = await client.callTool({ name: "search", arguments: { query: "exit codes" } });
    await client.close();
    assert.match(JSON.stringify(structuredContent), /"guide\/cli"/);
  });

  for (const [how, prepare] of [
    ["as its files and packages", (): void => undefined],
    [
      "by rolldown, where the project has it",
      (): void => symlinkSync(join(root, "node_modules/rolldown"), join(project, "node_modules/rolldown")),
    ],
  ] as const)
    test(`a bundle contains the code ${how}, and starts where it is unpacked #cli.bundle`, async () => {
      await install(`zod@${version("zod")}`);
      prepare();
      mkdirSync(join(project, "code/lib"), { recursive: true });
      mkdirSync(join(project, "data"), { recursive: true });
      writeFileSync(join(project, "data/words.txt"), "Knock first.");
      const reading = [
        'import { readFileSync } from "node:fs";',
        'import { join } from "node:path";',
        'const names = [new URL("../../data/words.txt", import.meta.url), join(import.meta.dirname, "../../data/words.txt")];',
        // Bundling leaves texts and other names alone.
        'const source_url: string = "import.meta.url";',
        'const texts = names.map((name) => readFileSync(name, "utf8"));',
        'export const words: string = [...new Set([...texts, source_url])].join(" ");',
      ];
      writeFileSync(join(project, "code/lib/words.ts"), reading.join("\n"));
      writeFileSync(join(project, "code/door.ts"), `${readmeExample()}\nexport { words as instructions } from "./lib/words.ts";\n`);
      const made = await bundle(project, "code/door.ts", "--name", "door", "--include", "data");
      assert.equal(made.bundled, how.startsWith("by rolldown"));
      const zip = readFileSync(join(project, "door.mcpb"));
      assert.equal(createHash("sha256").update(zip).digest("hex"), made.sha256);
      const client = await startBundle(zip);
      assert.equal(client.getInstructions(), "Knock first. import.meta.url");
      const { content } = await client.callTool({ name: "unlock", arguments: {} });
      await client.close();
      assert.match(JSON.stringify(content), /Click/);
    });

  test("a bundle has the configuration of capabilities, and what Troupe needs to call other servers", async () => {
    const own = join(project, "own");
    // Not in the project's own folder of packages: npm would remove what a link to a scope leads to.
    mkdirSync(join(own, "node_modules/@modelcontextprotocol"), { recursive: true });
    const client = "node_modules/@modelcontextprotocol/client";
    symlinkSync(join(root, client), join(own, client));
    const dependencies = { "@modelcontextprotocol/client": version("@modelcontextprotocol/client") };
    writeFileSync(join(own, "package.json"), JSON.stringify({ name: "own", version: "1.0.0", type: "module", dependencies }));
    writeFileSync(
      join(own, "index.ts"),
      `import { capability } from "troupe/packet";
      export const ask = capability("ask", { intent: "Asks the other server", execute: (_, { mcp }) => mcp("other").call("unlock") });
      export const unseen = capability("unseen", { intent: "Is not exposed", execute: () => ({}) });`,
    );
    writeFileSync(join(own, "troupe.config.ts"), 'export default { modules: "./index.ts", packetConfig: "./capabilities.json" };');
    const args = [join(project, "node_modules/troupe/bin/troupe.js"), "serve", join(project, "door.js"), "--stdio"];
    const other = { command: process.execPath, args: [...args, "--data", join(own, "other")] };
    writeFileSync(join(project, "door.js"), readmeExample());
    writeFileSync(join(own, "capabilities.json"), JSON.stringify({ mcp: { expose_capabilities: ["ask"], servers: { other } } }));
    await bundle(own);
    const started = await startBundle(readFileSync(join(own, "own.mcpb")));
    const { tools } = await started.listTools();
    const { content } = await started.callTool({ name: "ask", arguments: {} });
    await started.close();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["ask"],
    );
    assert.match(JSON.stringify(content), /Click/);
  });

  test("a world is served from the package #cli.modules.world #mud.worlds.serve", async () => {
    writeFileSync(join(project, "my-world.yaml"), readFileSync(join(root, "examples/mud/worlds/saltmarsh.yaml")));
    assert.match(await serveAndList(project, "my-world.yaml"), /"look"/);
  });

  test("a packed install serves the console, page and API", async () => {
    const exported = join(project, "console-data");
    const args = ["--no", "troupe", "serve", "node_modules/troupe/dist/mud/worlds/keep.yaml", "--http", "127.0.0.1:0"];
    const child = spawn("npx", [...args, "--data", exported, "--json", "--console"], {
      cwd: project,
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    const ended = new Promise<number | null>((settle) => child.once("exit", settle));
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        const { console: link }: { readonly console?: unknown } = Object(JSON.parse(line));
        const [page = "", token = ""] = String(link).split("#token=");
        const html = await (await fetch(page)).text();
        const script = /src="([^"]+\.js)"/.exec(html)?.[1] ?? "";
        assert.equal((await fetch(new URL(script, page))).headers.get("content-type"), "text/javascript; charset=utf-8");
        const headers = { authorization: `Bearer ${token}` };
        const described: unknown = await (await fetch(`${page}/api/openapi.json`, { headers })).json();
        assert.ok(Object.keys(Object(described)["components"]["schemas"]).length > 30);
        return;
      }
      assert.fail("troupe serve ended before it was ready");
    } finally {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await ended;
    }
  });

  test("an empty JavaScript project serves an actor #repository.tarball-javascript #cli.modules.javascript", async () => {
    await install(`zod@${version("zod")}`);
    // The example has no type annotations, so it is JavaScript as well.
    writeFileSync(join(project, "door.js"), readmeExample());
    assert.match(await serveAndList(project, "./door.js"), /"unlock"/);
  });

  test("an empty TypeScript project compiles and serves the README's example #repository.readme #repository.tarball-typescript #cli.modules.typescript", async () => {
    await install(`typescript@${version("typescript")}`, `zod@${version("zod")}`);
    writeFileSync(join(project, "door.ts"), readmeExample());
    const compiler = join(project, "node_modules/typescript/bin/tsc");
    const flags = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024", "--skipLibCheck"];
    await run(process.execPath, [compiler, ...flags, "door.ts"], { cwd: project });
    assert.match(await serveAndList(project, "door.ts"), /"unlock"/);
  });
});

const version = (name: string): string => {
  const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.ok(typeof manifest === "object" && manifest !== null && "devDependencies" in manifest);
  const pinned: unknown = Object.entries(manifest.devDependencies ?? {}).find(([entry]) => entry === name)?.[1];
  return String(pinned);
};
