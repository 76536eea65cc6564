import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const { exports }: { readonly exports: Readonly<Record<string, { readonly default: string }>> } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../package.json"), "utf8"),
);

/**
 * By name: the command, the threads it starts, and what a served module may import, since that has to meet the command's own
 * errors and refusals. All beside each other: what is asked for by a place beside or above `import.meta.url` is found there.
 */
const entriesOf = (dist: string): Record<string, string> => ({
  main: join(dist, "cli/main.js"),
  "resolve-hook": join(dist, "cli/resolve-hook.js"),
  worker: join(dist, "bridges/wasm/pool/worker.js"),
  "transpile-worker": join(dist, "bridges/wasm/jco/transpile-worker.js"),
  "sql-child": join(dist, "bridges/sql/sql-child.js"),
  "sql-watcher": join(dist, "bridges/sql/sql-watcher.js"),
  "dev-watcher": join(dist, "cli/commands/dev-watcher.js"),
  ...Object.fromEntries(
    Object.entries(exports)
      // The MUD is compiled by itself.
      .filter(([name]) => name !== "./mud")
      .map(([name, { default: file }]) => [name === "." ? "index" : name.slice("./".length), join(dist, "..", file)]),
  ),
});

/**
 * To import a module of Node's is to have all that it exports, whatever it loads for that: of node:fs its streams and promises.
 * What asks for a `default` stays an import: only that has one.
 */
const withoutFacades: Plugin = {
  name: "without-facades",
  renderChunk: (code) =>
    code.replaceAll(/^import \{ (?!.*\bdefault as )(.*) \} from ("node:.*");$/gm, (_, names: string, module: string) => {
      return `const { ${names.replaceAll(" as ", ": ")} } = process.getBuiltinModule(${module});`;
    }),
};

/** Packages that only the command needs. They are bundled, so they are not installed with Troupe. Commander is CommonJS, which Node loads slowly. */
const BUNDLED = ["commander", "diff", "fflate", "jsonc-parser", "minisearch"];

const licenceOf = (name: string): string => {
  const folder = join(import.meta.dirname, "../node_modules", name);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file.`);
  return join(folder, file);
};

/** Puts the command in few files: to find, read and link three hundred was most of its start. The package's own entries stay as tsc made them. */
export const bundleCommand = async (dist: string): Promise<void> => {
  const bundle = await rolldown({
    input: entriesOf(dist),
    platform: "node",
    external: new RegExp(`^(?!(?:${BUNDLED.join("|")})$)[@a-z]`),
    // One of them would otherwise be taken in a form that cannot be bundled.
    resolve: { mainFields: ["module", "main"] },
    plugins: [withoutFacades],
  });
  await bundle.write({
    dir: join(dist, "cli"),
    cleanDir: true,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: false,
  });
  await bundle.close();
  for (const name of BUNDLED) cpSync(licenceOf(name), join(dist, "cli", `LICENSE-${name}`));
};
