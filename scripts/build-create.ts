// Emits what the package create-troupe ships beside its templates: its command in one file, without dependencies.
import { copyFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const dist = join(root, "create-troupe/dist");

const bundle = await rolldown({ input: join(root, "src/cli/create-main.ts"), platform: "node", external: /^node:/ });
await bundle.write({ file: join(dist, "create-main.js"), comments: false });
await bundle.close();
copyFileSync(join(dirname(createRequire(import.meta.url).resolve("commander")), "LICENSE"), join(dist, "LICENSE-commander"));
copyFileSync(join(root, "LICENSE"), join(root, "create-troupe/LICENSE"));
