// Builds the console's page and the schemas of its API: `node scripts/build-console.ts [folder]`, default dist/console.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { build } from "vite";
import { consoleSchemas } from "./console-schemas.ts";

const root = join(import.meta.dirname, "..");

/** Builds next to `folder`, and replaces it when the result is complete: a server may be reading what is there. */
export const buildConsole = async (folder: string): Promise<void> => {
  const fresh = join(dirname(folder), `.${basename(folder)}-${process.pid}`);
  const old = `${fresh}-old`;
  mkdirSync(dirname(folder), { recursive: true });
  try {
    await build({ configFile: join(root, "console/vite.config.ts"), build: { outDir: fresh } });
    writeFileSync(join(fresh, "schemas.json"), JSON.stringify(consoleSchemas()));
    try {
      renameSync(folder, old);
    } catch {
      // There is none yet.
    }
    renameSync(fresh, folder);
  } finally {
    for (const path of [fresh, old]) rmSync(path, { recursive: true, force: true });
  }
};

if (import.meta.main) await buildConsole(resolve(process.argv[2] ?? join(root, "dist/console")));
