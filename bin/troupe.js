#!/usr/bin/env node
// Plain JavaScript that any Node can parse: a Node too old is told so in one sentence.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `troupe needs Node 24 or newer, and this is Node ${process.versions.node}. Install a newer Node, or add the npm package "node@24" to your project and start troupe through npm.`,
  );
  process.exit(1);
}
// Before anything else is loaded. Text from outside that names `__proto__` then finds no prototype, in any module of this process.
delete Object.prototype.__proto__;
// Nor can a slip of author code add a member to all objects, or to a function that every value of JSON inherits: with
// `groups[name] ??= {}`, a caller's `hasOwnProperty` would get that one, whose `call` others use. The prototypes' own members stay
// writable: frozen, they could not be shadowed by assignment any more, which ordinary code does.
Object.preventExtensions(Object.prototype);
for (const constructor of [Object, Array, Function, String, Number, Boolean]) {
  Object.freeze(constructor);
  for (const { value } of Object.values(Object.getOwnPropertyDescriptors(constructor.prototype)))
    if (typeof value === "function") Object.freeze(value);
}
const { enableCompileCache } = process.getBuiltinModule("node:module");
const { existsSync, mkdirSync, statSync } = process.getBuiltinModule("node:fs");
const { homedir } = process.getBuiltinModule("node:os");
const { dirname, isAbsolute, join } = process.getBuiltinModule("node:path");
// Node's own place for compiled code is in the temporary folder, under a name that anybody could take first, and what lies there is run.
try {
  const folder = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "troupe");
  // Without a home it would lie in the folder this was started in.
  if (isAbsolute(folder)) {
    // Not recursively: under /proc that never returns.
    for (const level of [dirname(folder), folder]) if (!existsSync(level)) mkdirSync(level, { mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (uid === process.geteuid?.() && (mode & 0o022) === 0) enableCompileCache(folder);
  }
} catch {
  // Without a home it starts somewhat slower.
}
// A checkout has the sources and may have no build; a package has the build only.
const source = existsSync(new URL("../src/cli/main.ts", import.meta.url));
const part = (name) => import(new URL(source ? `../src/cli/${name}.ts` : `../dist/cli/${name}.js`, import.meta.url).href);
// Before all others: it says where they are.
(await part("resolve-hook")).resolveToThisTroupe();
const { main } = await part("main");
// What a module leaves running must not hold up a command that is done, nor a server that was told to stop.
process.exit(await main(process.argv.slice(2)));
