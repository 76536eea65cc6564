// A user's project with the published package and a suite; the runners are installed in this folder.
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { installPinned } from "../install-pinned.ts";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

export interface Ran {
  readonly code: unknown;
  /** The output of the runner, both streams. */
  readonly output: string;
}

export interface Project extends AsyncDisposable {
  /** Runs a program of the installed runners, or node, in the project. */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
}

export async function newProject(files: Readonly<Record<string, string>>): Promise<Project> {
  await installPinned(import.meta.dirname);
  const folder = mkdtempSync(join(tmpdir(), "troupe-runners-"));
  const own = join(folder, "node_modules/troupe");
  mkdirSync(own, { recursive: true });
  copyFileSync(join(root, "package.json"), join(own, "package.json"));
  // The package's dependencies are nested next to it, as by npm; zod and the runners are next to the suite.
  symlinkSync(join(root, "node_modules"), join(own, "node_modules"));
  symlinkSync(join(root, "node_modules/zod"), join(folder, "node_modules/zod"));
  symlinkSync(join(import.meta.dirname, "node_modules/vitest"), join(folder, "node_modules/vitest"));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  await run(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", join(own, "dist")]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return {
    async run(program, args, env = {}) {
      const { NODE_OPTIONS: _none, NODE_TEST_CONTEXT: _outer, ...inherited } = process.env;
      const script = program === "node" ? [] : [join(import.meta.dirname, "node_modules", program)];
      try {
        const options = { cwd: folder, env: { ...inherited, ...env, NO_COLOR: "1" }, timeout: 60_000 };
        const { stdout, stderr } = await run(process.execPath, [...script, ...args], options);
        return { code: 0, output: stdout + stderr };
      } catch (error) {
        const { code, stdout, stderr } = Object(error);
        return { code, output: `${stdout}${stderr}` };
      }
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
