// One file per claim of README: `npm run bench`, or `npm run bench -- http-call spawn` for some.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const all = ["http-call", "tools-list", "in-process", "actors", "durable", "start-up", "cluster", "packet", "packet-search"] as const;

if (!existsSync(join(import.meta.dirname, "peers/node_modules")))
  execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: join(import.meta.dirname, "peers"), stdio: "inherit" });

const wanted = process.argv.slice(2);
for (const name of all) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n# ${name}`);
  const bench: unknown = await import(`./${name}.ts`);
  if (typeof bench === "object" && bench !== null && "run" in bench && typeof bench.run === "function") await bench.run();
}
