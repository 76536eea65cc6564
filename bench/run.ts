// One file per claim of README: `npm run bench`, or `npm run bench -- http-call spawn` for some.
import { join } from "node:path";
import { installPinned } from "../test/install-pinned.ts";

const all = [
  "http-call",
  "wires",
  "tools-list",
  "in-process",
  "actors",
  "durable",
  "start-up",
  "wake",
  "verify",
  "cluster",
  "packet",
  "packet-search",
  "guests",
  "sessions",
  "slow-reader",
] as const;

await installPinned(join(import.meta.dirname, "peers"));

const wanted = process.argv.slice(2);
for (const name of all) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.log(`\n# ${name}`);
  const bench: unknown = await import(`./${name}.ts`);
  if (typeof bench === "object" && bench !== null && "run" in bench && typeof bench.run === "function") await bench.run();
}
