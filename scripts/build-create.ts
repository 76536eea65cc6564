// Emits what the package create-troupe ships beside its templates.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCreate } from "./bundle-create.ts";

const root = join(import.meta.dirname, "..");

await bundleCreate(join(root, "create-troupe/dist"));
copyFileSync(join(root, "LICENSE"), join(root, "create-troupe/LICENSE"));
