// Preloaded into a command: says on standard error, as it ends, which parts of this package and which others it has loaded, and which files of its own.
import { registerHooks } from "node:module";

const loaded = new Set<string>();
const files = new Set<string>();

registerHooks({
  load(url, context, next) {
    // Folders are named without their group.
    const [, file, own, dependency] =
      /\/src\/(?:(?:core|mcp|bridges|hosts)\/)?(([a-z-]+)\/.*)|\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
    const part = own ?? dependency;
    if (part !== undefined) loaded.add(part);
    if (file !== undefined) files.add(file);
    return next(url, context);
  },
});

process.on("exit", () => process.stderr.write(`loaded ${[...loaded].toSorted().join(" ")}\nfiles ${[...files].toSorted().join(" ")}\n`));
