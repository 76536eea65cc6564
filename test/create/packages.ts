// Owns: the packages troupe and create-troupe as published, and commands run as a user would. Does not own: the projects (create.test.ts).
import { execFile, spawn } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import * as z from "zod";
import { bundleCommand } from "../../scripts/bundle-command.ts";
import { bundleCreate } from "../../scripts/bundle-create.ts";

export const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

// Without the variables of this test run, and of the npm that started it. The certificates that npm needs are the machine's.
const outside = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_(?!EXTRA_CA_CERTS$)|TROUPE_)/.test(name)),
);

/** With this repository's Node first in the path. */
const environment = {
  ...outside,
  NO_COLOR: "1",
  PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
  npm_config_ignore_scripts: "true",
  npm_config_prefer_offline: "true",
};

export interface Ran {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command and returns its exit code and output. */
export async function command(cwd: string, program: string, ...args: readonly string[]): Promise<Ran> {
  try {
    return { code: 0, ...(await run(program, args, { cwd, env: environment, timeout: 120_000 })) };
  } catch (error) {
    const { code, stdout, stderr } = Object(error);
    return { code, stdout: String(stdout), stderr: String(stderr) };
  }
}

/** The same, but throws unless it exits with 0. */
export async function succeed(cwd: string, program: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(cwd, program, ...args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${String(code)}:\n${stdout}\n${stderr}`);
  return stdout;
}

async function pack(folder: string, into: string): Promise<string> {
  const [packed] = Object.values(Object(JSON.parse(await succeed(folder, "npm", "pack", "--json", "--pack-destination", into))));
  return join(into, String(Object(packed)["filename"]));
}

/** The files of a package that are not built. */
const filesOf = (folder: string): readonly string[] => {
  const { files } = z.object({ files: z.array(z.string()) }).parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  const patterns = files.filter((file) => file !== "dist" && !file.startsWith("!"));
  return ["package.json", "README.md", ...globSync(patterns, { cwd: folder, exclude: ["**/node_modules"] })];
};

/** Builds and packs both in `home`, since other tests use the repository's `dist` meanwhile. Returns the paths of the tarballs. */
export async function packBoth(home: string): Promise<{ readonly troupe: string; readonly create: string }> {
  const staged = join(home, "troupe");
  for (const part of filesOf(root)) cpSync(join(root, part), join(staged, part), { recursive: true });
  // The bundle takes what it contains from there. npm does not pack it.
  symlinkSync(join(root, "node_modules"), join(staged, "node_modules"));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  await succeed(root, process.execPath, tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", join(staged, "dist"));
  await bundleCommand(join(staged, "dist"));
  const create = join(home, "create-troupe");
  for (const part of filesOf(join(root, "create-troupe")))
    cpSync(join(root, "create-troupe", part), join(create, part), { recursive: true });
  await bundleCreate(join(create, "dist"));
  const into = join(home, "packed");
  mkdirSync(into);
  return { troupe: await pack(staged, into), create: await pack(create, into) };
}

export interface Started extends AsyncDisposable {
  /** The line that says it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** The lines before it. */
  readonly before: string;
}

/** `npm start` in a project, on a free port, until it is ready. */
export async function start(cwd: string): Promise<Started> {
  const child = spawn("npm", ["start", "--", "--http", "127.0.0.1:0", "--json"], {
    cwd,
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
    // A process group of its own, since npm does not forward signals.
    detached: true,
  });
  const ended = new Promise<void>((settle) => child.once("exit", () => settle()));
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
    await ended;
  };
  const before: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"ready"')) return { ready: Object(JSON.parse(line)), before: before.join("\n"), [Symbol.asyncDispose]: stop };
    before.push(line);
  }
  await stop();
  throw new Error(`npm start ended before it was ready:\n${before.join("\n")}`);
}
