import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;

const same = (a: string, b: string): boolean =>
  existsSync(a) && existsSync(b) && readFileSync(a, "utf8").length > 0 && readFileSync(b, "utf8").length > 0;

/** Installs the foreign judges where they are not yet; returns their folder's `node_modules`. */
export const installJudges = (): string => {
  const modules = join(folder, "node_modules");
  if (!same(join(modules, ".package-lock.json"), join(folder, "package-lock.json")))
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  return modules;
};
