import { copyFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";

/** Puts the command of create-troupe in one file without dependencies, so that npm fetches one package to run it. */
export const bundleCreate = async (dist: string): Promise<void> => {
  const bundle = await rolldown({
    input: join(import.meta.dirname, "../src/cli/create-main.ts"),
    platform: "node",
    external: /^node:/,
  });
  await bundle.write({ file: join(dist, "create-main.js"), comments: false });
  await bundle.close();
  copyFileSync(join(dirname(createRequire(import.meta.url).resolve("commander")), "LICENSE"), join(dist, "LICENSE-commander"));
};
