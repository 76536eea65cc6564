#!/usr/bin/env node
// Plain JavaScript that any Node can parse, so that an old one prints one sentence.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `create-troupe needs Node 24 or newer, and this is Node ${process.versions.node}. Install a newer Node, or run it by npx -p node@24 -p create-troupe create-troupe.`,
  );
  process.exit(1);
}
const { existsSync, readFileSync } = process.getBuiltinModule("node:fs");
const { fileURLToPath } = process.getBuiltinModule("node:url");
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
// A checkout has the sources and may have no build; a package has the build only.
const source = new URL("../../src/cli/create-main.ts", import.meta.url);
const { createTroupe } = await import(existsSync(source) ? source.href : new URL("../dist/create-main.js", import.meta.url).href);
process.exit(await createTroupe(process.argv.slice(2), version, fileURLToPath(new URL("../templates", import.meta.url))));
