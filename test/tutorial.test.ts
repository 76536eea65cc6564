// A reader who follows docs/tutorial literally gets the output that the pages show. The files are those of examples/tutorial.
// slow: it starts servers and clients
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { unformatted } from "./guide-code.ts";
import { promisify } from "node:util";
import * as z from "zod";
import { installJudges } from "./foreign/install.ts";
import { root } from "./serve-child.ts";

const run = promisify(execFile);
const PAGES = ["1-actor", "2-users", "3-many", "4-time", "5-production"];
const LAUNCHER = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

interface Block {
  readonly language: string;
  readonly text: string;
  /** The file name in the block's first line: `// list.ts`. */
  readonly file: string | undefined;
}

const blocksOf = (page: string): readonly Block[] =>
  Array.from(
    readFileSync(join(root, `docs/tutorial/${page}.md`), "utf8").matchAll(/```(\w+)\n([\s\S]*?)\n```/g),
    ([, language = "", text = ""]) => ({ language, text, file: language === "sh" ? undefined : /^(?:\/\/|#) (\S+)\n/.exec(text)?.[1] }),
  );

/** Without its first line, which names the file. */
const contentOf = ({ text }: Block): string => `${text.slice(text.indexOf("\n") + 1)}\n`;

/** Replaces times, hashes and session ids, which differ in each run. */
const comparable = (output: string): string =>
  output
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b[0-9a-f]{12}\b/g, "HASH")
    .replaceAll(/session\|[\w-]+/g, "session|ID")
    // The Inspector's warnings about schemas.
    .replaceAll(/^Schema portability: .*\n/gm, "")
    .trimEnd();

test("the files that a page shows are those of the examples, all of them", () => {
  for (const page of PAGES.slice(0, 4)) {
    const displayed = new Map(
      blocksOf(page).flatMap((block) => (block.file === undefined ? [] : [[block.file, contentOf(block)] as const])),
    );
    assert.ok(displayed.size > 1);
    for (const [file, content] of displayed)
      assert.equal(unformatted(content), unformatted(readFileSync(join(root, "examples/tutorial", page, file), "utf8")), file);
    for (const file of globSync(`examples/tutorial/${page}/*.ts`, { cwd: root })) {
      const earlier = PAGES.slice(0, PAGES.indexOf(page)).toReversed();
      if (displayed.has(basename(file))) continue;
      // Unchanged since an earlier page.
      const from = earlier.find((other) => existsSync(join(root, "examples/tutorial", other, basename(file))));
      assert.ok(from !== undefined, `${file} is on no page`);
      const same = readFileSync(join(root, "examples/tutorial", from, basename(file)), "utf8");
      assert.equal(readFileSync(join(root, file), "utf8"), same, file);
    }
  }
});

test("the first page installs as the guide to a first server does", () => {
  const install = blocksOf("1-actor").find(({ text }) => text.includes("npm init"));
  assert.ok(
    readFileSync(join(root, "docs/guide/first-server.md"), "utf8").includes(install?.text.replaceAll("shopping", "hello") ?? "nothing"),
  );
});

test("the first page has the tsconfig.json of the guide to a first server", () => {
  const settings = blocksOf("1-actor").find(({ language }) => language === "json");
  assert.ok(readFileSync(join(root, "docs/guide/first-server.md"), "utf8").includes(`\`\`\`json\n${settings?.text ?? "nothing"}\n\`\`\``));
});

/** The server in the first terminal, and what it logs. */
interface Running extends AsyncDisposable {
  /** `troupe dev`, which reloads saved files. */
  readonly reloads: boolean;
  /** Resolves when it has reloaded the saved files. */
  reloaded(): Promise<void>;
  readonly warnings: string[];
}

describe("a reader who follows the pages", () => {
  let folder = "";
  let server: Running | undefined;
  let address = "";
  let inspector = "";

  before(() => {
    folder = join(mkdtempSync(join(tmpdir(), "troupe-tutorial-")), "shopping");
    // Instead of `npm install`: the packages of this repository.
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    symlinkSync(root, join(folder, "node_modules/troupe"));
    symlinkSync(join(root, "node_modules/zod"), join(folder, "node_modules/zod"));
    writeFileSync(join(folder, "package.json"), '{ "name": "shopping", "type": "module" }\n');
    inspector = join(installJudges(), LAUNCHER);
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(dirname(folder), { recursive: true, force: true });
  });

  // A nested `node --test` reports in a machine format unless this variable is removed.
  const { NODE_TEST_CONTEXT: _context, ...outside } = process.env;
  const environment = {
    ...outside,
    HOME: tmpdir(),
    PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
    NODE_OPTIONS: "--conditions=troupe-source",
  };

  const start = async (command: string): Promise<void> => {
    await server?.[Symbol.asyncDispose]();
    const words = command.split(" ").slice(2);
    const args = [join(root, "bin/troupe.js"), ...words, "--http", "127.0.0.1:0", "--json"];
    const child = spawn(process.execPath, args, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise<void>((settle) => child.once("exit", () => settle()));
    const endedEarly = ended.then(() => {
      throw new Error("The server ended before it reloaded.");
    });
    endedEarly.catch(() => undefined);
    const logs = createInterface({ input: child.stderr });
    const warnings: string[] = [];
    const waiting: (() => void)[] = [];
    logs.on("line", (line) => {
      // Node's own warnings are not JSON.
      if (!line.startsWith("{")) return;
      const { level, event } = z.object({ level: z.string(), event: z.string() }).parse(JSON.parse(line));
      // The machine's clock may jump at any time.
      if (level !== "info" && event !== "clock-jumped") warnings.push(event);
      if (event === "reloaded" || event === "reload-failed") waiting.shift()?.();
    });
    server = {
      reloads: words[0] === "dev",
      reloaded: () => Promise.race([new Promise<void>((settle) => void waiting.push(settle)), endedEarly]),
      warnings,
      async [Symbol.asyncDispose]() {
        child.kill("SIGTERM");
        await ended;
      },
    };
    const first = await Promise.race([createInterface({ input: child.stdout })[Symbol.asyncIterator]().next(), ended]);
    assert.ok(first !== undefined && first.done !== true, `${command} ended`);
    address = new URL(z.object({ http: z.string() }).parse(JSON.parse(first.value)).http).host;
  };

  const save = async (file: string, content: string): Promise<void> => {
    const reloaded = server?.reloads === true && file.endsWith(".ts") ? server.reloaded() : undefined;
    writeFileSync(join(folder, file), content);
    await reloaded;
  };

  const shell = async (displayed: string): Promise<string> => {
    // A reader waits some seconds for the reminder; here it may take longer.
    const commands = displayed
      .replaceAll("127.0.0.1:3000", address)
      .replace("sleep 5", "until npx troupe state me/ann | grep -q party; do sleep 1; done");
    const npx = `npx() { case "$1" in troupe) shift; node ${root}/bin/troupe.js "$@";; *) shift 2; node ${inspector} "$@";; esac; }`;
    // A reader's terminal retains variables that an earlier command exported.
    const script = ["exec 2>&1", "if [ -f ../exported ]; then . ../exported; fi", npx, commands, "export -p > ../exported"];
    const { stdout } = await run("bash", ["-c", script.join("\n")], { cwd: folder, env: environment });
    return stdout;
  };

  for (const page of PAGES)
    test(`page ${page}`, async () => {
      const blocks = blocksOf(page);
      for (const [at, block] of blocks.entries()) {
        const next = blocks[at + 1];
        if (block.file !== undefined) {
          await save(block.file, contentOf(block));
          // The page announces each warning of the first terminal, and there are none once all files are saved.
          for (const event of server?.warnings.splice(0) ?? []) {
            assert.ok(next?.file !== undefined, `${event} after ${block.file}`);
            assert.ok(readFileSync(join(root, `docs/tutorial/${page}.md`), "utf8").includes(`\`${event}\``), event);
          }
        }
        if (block.language !== "sh" || /npm in(?:it|stall)|^docker /m.test(block.text)) continue;
        if (/^npx troupe (?:dev|serve)/.test(block.text)) {
          await start(block.text);
          continue;
        }
        const reloaded = server?.reloads === true && block.text.startsWith("rm ") ? server.reloaded() : undefined;
        const printed = await shell(block.text);
        await reloaded;
        if (block.text.includes("node --test")) assert.match(printed, /fail 0\n/, printed);
        if (next?.language === "text") assert.equal(comparable(printed), comparable(next.text));
      }
    });

  test("the container of the last page copies files that exist, and its command asks for a key", async () => {
    const dockerfile = blocksOf("5-production").find(({ language }) => language === "dockerfile")?.text ?? "";
    const files = Array.from(dockerfile.matchAll(/^COPY (.+) \.\/$/gm), ([, names = ""]) => names.split(" ")).flat();
    assert.ok(files.length > 6);
    for (const file of files) if (!/^(?:package-lock\.json|troupe-.*\.tgz)$/.test(file)) assert.ok(existsSync(join(folder, file)), file);
    const words = z.array(z.string()).parse(JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? ""));
    assert.deepEqual(words.slice(0, 4), ["node_modules/.bin/troupe", "serve", "--http", "0.0.0.0:3000"]);
    // Mounted files exist, at the paths of the settings; the piped file can be imported.
    const commands = blocksOf("5-production").find(({ text }) => text.startsWith("docker build"))?.text ?? "";
    assert.match(commands, / -v shopping:\/data -v \.\/keys\.json:\/app\/keys\.json:ro shopping$/);
    const [restore = "", pipe = "", inside = ""] =
      /^(gunzip .*) \| docker run .* (node_modules\/\.bin\/troupe) (.*)$/m.exec(commands)?.slice(1) ?? [];
    assert.equal(pipe, words[0]);
    assert.match(await shell(`${restore} | npx troupe ${inside.replace("/data", "volume")}`), /^Imported 4 actors/m);
    // This is not a container: loopback instead of every address, and a folder of the test.
    await start(["npx troupe serve", ...words.slice(4)].join(" ").replace("/data", join(folder, "volume")));
    assert.equal((await fetch(`http://${address}/mcp`, { method: "POST" })).status, 401);
  });
});
