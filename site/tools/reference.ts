// Owns: the reference, one Markdown page for each public subpath, generated from the types. Does not own: the words, which are in docstrings.
import { globSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import GithubSlugger from "github-slugger";
import { Application, ReflectionKind } from "typedoc";
import type { ProjectReflection, TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import * as z from "zod";

const root = resolve(import.meta.dirname, "../..");

const manifest = z.object({ name: z.string(), exports: z.record(z.string(), z.object({ "troupe-source": z.string() })) });

/** The public subpaths, as they are imported, each with its source file. */
export function subpaths(): ReadonlyMap<string, string> {
  const { name, exports } = manifest.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
  return new Map(Object.entries(exports).map(([subpath, to]) => [join(name, subpath), join(root, to["troupe-source"])]));
}

const MARKDOWN: Partial<PluginOptions> = {
  outputFileStrategy: "modules",
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: true,
  expandParameters: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeAliasPropertiesFormat: "table",
  propertyMembersFormat: "table",
  enumMembersFormat: "table",
  sanitizeComments: true,
};

/** Writes the pages into a folder, which is emptied. */
export async function writeReference(folder: string): Promise<void> {
  const { app, project } = await convert({ outputs: [{ name: "markdown", path: folder }], ...MARKDOWN });
  await app.generateOutputs(project);
  // TypeDoc keeps the address troupe/actor for the function `actor` of `troupe`, which has no page of its own.
  const pages = globSync("**/*.md", { cwd: folder }).map((page) => join(folder, page));
  for (const page of pages) {
    const text = readFileSync(page, "utf8");
    const mended = text.replaceAll(/\]\(([^)#\s]*)#([\w-]+?)-\d+\)/gu, (link: string, path: string, anchor: string) => {
      const ids = headingIds(readFileSync(path === "" ? page : join(dirname(page), path), "utf8"));
      return ids.has(link.slice(link.indexOf("#") + 1, -1)) || !ids.has(anchor) ? link : `](${path}#${anchor})`;
    });
    writeFileSync(page, mended.replaceAll("-1.md", ".md"));
  }
  for (const page of pages) if (page.endsWith("-1.md")) renameSync(page, page.replace("-1.md", ".md"));
}

export interface Missing {
  /** The subpath and the name. */
  readonly name: string;
  readonly missing: "comment" | "example";
}

/** Subpaths of which every function, class and constant has an example. */
const WITH_EXAMPLES = new Set(["troupe", "troupe/config", "troupe/server", "troupe/testing"]);
const NEEDS_EXAMPLE = ReflectionKind.Function | ReflectionKind.Class | ReflectionKind.Variable;

/** Public names without a docstring, or without an example where there should be one. */
export async function undocumented(): Promise<readonly Missing[]> {
  const { project } = await convert({});
  return project.getChildrenByKind(ReflectionKind.Module).flatMap((module) =>
    (module.children ?? []).flatMap((child): readonly Missing[] => {
      const name = `${module.name} ${child.name}`;
      const comments = [child, ...(child.signatures ?? [])].flatMap(({ comment }) => (comment === undefined ? [] : [comment]));
      if (child.kind === ReflectionKind.Reference) return [];
      if (!comments.some((comment) => comment.hasVisibleComponent())) return [{ name, missing: "comment" }];
      const isShown = comments.some((comment) => comment.getTag("@example") !== undefined);
      return WITH_EXAMPLES.has(module.name) && child.kindOf(NEEDS_EXAMPLE) && !isShown ? [{ name, missing: "example" }] : [];
    }),
  );
}

/** The anchors that the site gives headings. TypeDoc counts equal ones differently, so a few of its links have a number too many. */
function headingIds(text: string): ReadonlySet<string> {
  const slugger = new GithubSlugger();
  return new Set(Array.from(text.matchAll(/^#+ (.+)$/gmu), ([, heading = ""]) => slugger.slug(heading)));
}

async function convert(
  options: Partial<PluginOptions & TypeDocOptions>,
): Promise<{ readonly app: Application; readonly project: ProjectReflection }> {
  const names = subpaths();
  const app = await Application.bootstrapWithPlugins({
    entryPoints: [...names.values()],
    tsconfig: join(root, "tsconfig.json"),
    plugin: ["typedoc-plugin-markdown"],
    readme: "none",
    name: "Reference",
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: true,
    skipErrorChecking: true,
    logLevel: "Warn",
    validation: false,
    blockTagsPreserveOrder: ["@example"],
    groupOrder: ["Functions", "Variables", "Classes", "Interfaces", "Type Aliases", "*"],
    ...options,
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc could not read the sources: see what it printed.");
  // TypeDoc names a module after its file.
  const named = new Map([...names].map(([name, file]) => [relative(root, file).replace(/\/index\.ts$/, ""), name]));
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) module.name = named.get(module.name) ?? module.name;
  return { app, project };
}
