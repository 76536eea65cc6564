// Emits what the package ships: dist/ from src/, and the MUD, which `troupe serve world.yaml` needs.
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { buildConsole } from "./build-console.ts";
import { bundleCommand } from "./bundle-command.ts";

const root = join(import.meta.dirname, "..");
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
const emit = (project: string): void => {
  execFileSync(process.execPath, [tsc, "-p", join(root, project)], { stdio: "inherit", cwd: root });
};

rmSync(join(root, "dist"), { recursive: true, force: true });
emit("tsconfig.build.json");
await bundleCommand(join(root, "dist"));
await buildConsole(join(root, "dist/console"));
emit("examples/mud/tsconfig.build.json");
cpSync(join(root, "examples/mud/worlds"), join(root, "dist/mud/worlds"), { recursive: true });
cpSync(join(root, "examples/mud/world.schema.json"), join(root, "dist/mud/world.schema.json"));
