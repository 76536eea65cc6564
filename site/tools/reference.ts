// Owns: the reference, one Markdown page for each public subpath, generated from the types. Does not own: the words, which are in docstrings.
import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Application, ReflectionKind } from "typedoc";
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
    outputs: [{ name: "markdown", path: folder }],
    blockTagsPreserveOrder: ["@example"],
    groupOrder: ["Functions", "Variables", "Classes", "Interfaces", "Type Aliases", "*"],
    ...MARKDOWN,
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc could not read the sources: see what it printed.");
  // TypeDoc names a module after its file.
  const named = new Map([...names].map(([name, file]) => [relative(root, file).replace(/\/index\.ts$/, ""), name]));
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) module.name = named.get(module.name) ?? module.name;
  await app.generateOutputs(project);
}
