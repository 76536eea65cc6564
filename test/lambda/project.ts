// A project made by following the page: an empty directory, the packed package, its files.
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { blocksOf, PAGES, root } from "./pages.ts";

const run = promisify(execFile);

export interface Project extends AsyncDisposable {
  readonly folder: string;
  /** Runs a block of commands unchanged in the project's folder. */
  shell(commands: string): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Starts a file with Node, and waits for the address it prints. */
  start(file: string, env: Readonly<Record<string, string>>): Promise<Running>;
}

export interface Running extends AsyncDisposable {
  readonly url: string;
}

// Without this, a nested `node --test` prints nothing.
const { NODE_TEST_CONTEXT: _context, ...outside } = process.env;

/** With this repository's Node first in the path, and without prompts. */
const environment = {
  ...outside,
  PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
  npm_config_ignore_scripts: "true",
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
};

/** The folder that `npm pack` gets instead of this repository: built elsewhere, since other tests use `dist`. */
async function stage(folder: string): Promise<void> {
  mkdirSync(folder);
  for (const part of ["package.json", "README.md", "LICENSE", "bin"]) cpSync(join(root, part), join(folder, part), { recursive: true });
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await run(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist")]);
}

export async function followPage(): Promise<Project> {
  const home = mkdtempSync(join(tmpdir(), "troupe-guide-"));
  const staged = join(home, "troupe");
  await stage(staged);
  const folder = join(home, "hello");
  const shell = (cwd: string, commands: string) => run("bash", ["-euo", "pipefail", "-c", commands], { cwd, env: environment });
  const [install] = blocksOf("first-server.md");
  if (install === undefined) throw new Error("The page begins with no commands.");
  await shell(home, install.text.replaceAll("/path/to/troupe", staged).replace(/ zod$/, ` zod@${pinned("zod")}`));
  for (const { file, text } of PAGES.flatMap(blocksOf)) if (file !== undefined) writeFileSync(join(folder, file), `${text}\n`);
  return {
    folder,
    shell: (commands) => shell(folder, commands),
    start: (file, env) => start(folder, file, env),
    async [Symbol.asyncDispose]() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Starts a file of a folder with Node, and waits for the line `MCP at <address>`. */
export async function start(
  folder: string,
  file: string,
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<Running> {
  const child = spawn(process.execPath, [...flags, file], {
    cwd: folder,
    env: { ...environment, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | string | null>((settle) => child.once("exit", (code, signal) => settle(signal ?? code)));
  const stop = async (): Promise<number | string | null> => {
    child.kill("SIGTERM");
    return ended;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^MCP at (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    return {
      url,
      async [Symbol.asyncDispose]() {
        const code = await stop();
        if (code !== 0) throw new Error(`${file} ended with ${code}`);
      },
    };
  }
  throw new Error(`${file} ended with ${await ended} before it listened.`);
}

function pinned(name: string): string {
  const version = new RegExp(`"${name}": "([^"]+)"`).exec(readFileSync(join(root, "package.json"), "utf8"))?.[1];
  if (version === undefined) throw new Error(`package.json has no ${name}`);
  return version;
}
