// Owns: the manifest.json of an MCP bundle (github.com/modelcontextprotocol/mcpb, MANIFEST.md 0.3). Does not own: the bundle's files.
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { isTexts, omitUndefined } from "../../core/contract/internal.ts";
import type { Project } from "./project.ts";

/** How the client starts the server. */
export interface Launch {
  readonly entryPoint: string;
  readonly args: readonly string[];
  /** Environment variables that the client asks its user for. */
  readonly variables: readonly string[];
  /** Native code is for this platform only. */
  readonly platform?: NodeJS.Platform;
}

const isUrl = (text: string | undefined): text is string => text !== undefined && URL.canParse(text);

/** `Ann <ann@example.com> (https://ann.example)`, or an object. */
const authorOf = (value: Json | undefined): JsonObject | undefined => {
  const parts = typeof value === "string" ? /^([^<(]+)(?:<([^>]*)>)?\s*(?:\(([^)]*)\))?/.exec(value) : undefined;
  const object: JsonObject = parts
    ? omitUndefined({ name: parts[1]?.trim(), email: parts[2], url: parts[3] })
    : isJsonObject(value)
      ? value
      : {};
  const { name, email, url } = object;
  if (typeof name !== "string" || name === "") return undefined;
  return {
    name,
    ...(typeof email === "string" && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email) ? { email } : {}),
    ...(typeof url === "string" && isUrl(url) ? { url } : {}),
  };
};

export const hasAuthor = ({ manifest }: Project): boolean => authorOf(manifest["author"]) !== undefined;

/** A user's value of an environment variable, by a name that manifests may have. */
const settingOf = (variable: string): string => variable.toLowerCase();

/** The manifest of a bundle that starts Troupe over stdio. */
export const bundleManifest = (project: Project, { entryPoint, args, variables, platform }: Launch): JsonObject => {
  const { manifest, name, title, version, description, homepage, repository } = project;
  const { keywords, license } = manifest;
  return {
    manifest_version: "0.3",
    name,
    display_name: title ?? name,
    version,
    description: description ?? `The MCP server ${name}.`,
    author: authorOf(manifest["author"]) ?? { name },
    ...(repository === undefined ? {} : { repository: { type: "git", url: repository } }),
    ...omitUndefined({ homepage }),
    server: {
      type: "node",
      entry_point: entryPoint,
      mcp_config: {
        command: "node",
        args: [...args],
        ...(variables.length === 0
          ? {}
          : { env: Object.fromEntries(variables.map((variable) => [variable, `\${user_config.${settingOf(variable)}}`])) }),
      },
    },
    // Tools follow the state, so a list of them would be wrong sooner or later.
    tools_generated: true,
    prompts_generated: true,
    ...(isTexts(keywords) && keywords.length > 0 ? { keywords: [...keywords] } : {}),
    ...(typeof license === "string" ? { license } : {}),
    compatibility: { ...(platform === undefined ? {} : { platforms: [platform] }), runtimes: { node: ">=24.0.0" } },
    ...(variables.length === 0
      ? {}
      : {
          user_config: Object.fromEntries(
            variables.map((variable) => [
              settingOf(variable),
              { type: "string", title: variable, description: `The server reads it from ${variable}.`, sensitive: true, required: true },
            ]),
          ),
        }),
  };
};
