// Owns: what runs in a new project: npm install and git init. Does not own: its files (new-project.ts).
import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";

type Run = Pick<SpawnOptions, "stdio" | "shell">;

/** Its output goes to standard error, which is for people. */
const VISIBLE: Run = { stdio: ["ignore", 2, 2] };

/** True if it ended with 0. */
const run = async (command: string, args: readonly string[], cwd: string, options = VISIBLE): Promise<boolean> => {
  const child = spawn(command, args, { cwd, ...options });
  try {
    const [code] = await once(child, "exit");
    return code === 0;
  } catch {
    if (options === VISIBLE) process.stderr.write(`${command} cannot be started: is it installed?\n`);
    return false;
  }
};

/** Installs what package.json names, with the npm that started this process where one did. */
export const installPackages = (directory: string): Promise<boolean> => {
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env["npm_execpath"];
  if (npm !== undefined && /npm-cli\.[cm]?js$/.test(npm)) return run(process.execPath, [npm, ...args], directory);
  // On Windows npm is a script of the shell.
  return run("npm", args, directory, { ...VISIBLE, shell: process.platform === "win32" });
};

/** Makes a repository, unless the folder is in one. False if there is none afterwards. */
export const initGit = async (directory: string): Promise<boolean> =>
  (await run("git", ["rev-parse", "--git-dir"], directory, { stdio: "ignore" })) || run("git", ["init", "--quiet"], directory);
