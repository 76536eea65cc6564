// Owns: running the documentation's tools, whose packages are installed when they are first needed. Does not own: the tools (site/tools).
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { installPinned } from "../test/install-pinned.ts";

const site = resolve(import.meta.dirname, "../site");
const TOOLS: ReadonlyMap<string, readonly string[]> = new Map([
  ["serve", [join(site, "tools/site.ts")]],
  ["build", [join(site, "tools/site.ts"), "build"]],
  ["undocumented", [join(site, "tools/undocumented.ts")]],
  ["pictures", [join(site, "tools/pictures.ts")]],
  ["readability", [join(site, "tools/readability.ts")]],
]);

const [name = "", ...args] = process.argv.slice(2);
const tool = TOOLS.get(name);
if (tool === undefined) {
  console.error(`There is no tool ${name}. Tools: ${[...TOOLS.keys()].join(", ")}.`);
  process.exitCode = 2;
} else {
  await installPinned(site);
  process.exitCode = spawnSync(process.execPath, [...tool, ...args], { stdio: "inherit" }).status ?? 1;
}
