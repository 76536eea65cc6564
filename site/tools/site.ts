// Owns: `npm run docs` and `npm run docs:build`. Does not own: the pages (stage.ts), the reference (reference.ts), the look (.vitepress).
import { existsSync, rmSync, watch } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { writeForModels } from "./llms.ts";
import { root } from "./pages.ts";
import { writeReference } from "./reference.ts";
import { stage } from "./stage.ts";

const USAGE = `Serves or builds the documentation site.

  npm run docs                    serve it, and show changes of pages at once
  npm run docs -- --port 5173     … on this port; a free one without it
  npm run docs:build              build it into site/.vitepress/dist

  --no-reference                  leave out the reference, which takes the longest

The environment variable DOCS_BASE is the path that the site is published under, such as /troupe/.`;

const site = resolve(import.meta.dirname, "..");
const pages = join(site, "pages");
const dist = join(site, ".vitepress/dist");
const WATCHED = ["docs", "examples", "site/home.md", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: { port: { type: "string" }, reference: { type: "boolean", default: true }, help: { type: "boolean" } },
});

// esbuild reads the tsconfig.json of the folder it runs in, and VitePress's does not know the root's target.
process.chdir(site);

if (values.help === true) console.log(USAGE);
else if (positionals[0] === "build") await buildSite();
else await serve(Number(values.port ?? 0));

async function buildSite(): Promise<void> {
  rmSync(pages, { recursive: true, force: true });
  stage(pages);
  if (values.reference) await writeReference(join(pages, "reference"));
  await build(site);
  writeForModels(pages, dist);
  console.log(`Built ${dist}`);
}

async function serve(port: number): Promise<void> {
  stage(pages);
  if (values.reference && !existsSync(join(pages, "reference"))) {
    console.log("Generating the reference (once, about half a minute) …");
    await writeReference(join(pages, "reference"));
  }
  const server = await createServer(site, { port, host: "127.0.0.1" });
  await server.listen();
  server.printUrls();
  for (const name of WATCHED)
    watch(join(root, name), { recursive: true }, () => {
      try {
        stage(pages);
      } catch (error) {
        console.error(error instanceof Error ? error.message : error);
      }
    });
}
