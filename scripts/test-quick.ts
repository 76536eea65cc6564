// Runs the tests that need no other process and are not slow. `--list` prints what is left out, and why.
import { join } from "node:path";
import { quickFiles } from "./quick-files.ts";
import { runQuick } from "./run-quick.ts";

const root = join(import.meta.dirname, "..");
const { run, leftOut } = quickFiles(root);

if (process.argv.includes("--list")) for (const [file, why] of leftOut) console.log(`${file}: ${why}`);
else {
  process.exitCode = (await runQuick(root, run)).length > 0 ? 1 : 0;
  console.log(`Left out: ${leftOut.size} files that start processes or threads, or are slow (npm run test:quick -- --list).`);
}
