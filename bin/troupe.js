#!/usr/bin/env node
// Plain JavaScript that any Node can parse: a Node too old is told so in one sentence.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `troupe needs Node 24 or newer, and this is Node ${process.versions.node}. Install a newer Node, or add the npm package "node@24" to your project and start troupe through npm.`,
  );
  process.exit(1);
}
const { enableCompileCache } = await import("node:module");
enableCompileCache();
const { existsSync } = await import("node:fs");
// A checkout has the sources and may have no build; a package has the build only.
const source = new URL("../src/cli/main.ts", import.meta.url);
const { main } = await import(existsSync(source) ? source.href : new URL("../dist/cli/main.js", import.meta.url).href);
process.exitCode = await main(process.argv.slice(2));
