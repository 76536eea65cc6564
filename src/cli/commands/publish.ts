// Owns: `troupe publish`: the server.json that describes a server to the MCP registry, and what the registry demands of it. Does not own:
// publishing, which the registry's own program does.
import type { Command } from "commander";
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { usage } from "../command-error.ts";
import { output } from "../output.ts";
import { checkVariables, collect } from "../option-parsers.ts";
import type { Project } from "../project.ts";
import { addProjectOptions } from "./bundle.ts";

interface PublishOptions {
  readonly dryRun?: boolean;
  readonly registryName?: string;
  readonly env?: readonly string[];
  readonly config?: string | false;
  readonly json?: boolean;
}

export const register = (program: Command): void => {
  addProjectOptions(
    program
      .command("publish")
      .description("Describe the server for the MCP registry: --dry-run prints its server.json. Publishes nothing.")
      .option("--dry-run", "print the server.json")
      .option("--registry-name <name>", 'such as io.github.ann/door (default: "mcpName" of package.json, or of its repository on GitHub)')
      .option("--env <variable>", "an environment variable that users have to set; repeatable", collect),
  ).action(publish);
};

export const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

const MOST_TEXT = 100;

const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/** The name under which the owner of a GitHub repository may publish. */
const nameFromRepository = ({ repository, name }: Project): string | undefined => {
  const owner = /^https:\/\/github\.com\/([\w.-]+)\//i.exec(repository ?? "")?.[1];
  return owner === undefined ? undefined : `io.github.${owner}/${name}`;
};

const isPublicUrl = (text: unknown): text is string => typeof text === "string" && text.startsWith("https://") && URL.canParse(text);

const sourceOf = (repository: string): string | undefined => /^https:\/\/(github|gitlab)\.com\//.exec(repository)?.[1];

/** The description, and what is left to do before publishing. */
interface Described {
  readonly server: JsonObject;
  readonly notes: readonly string[];
}

/** The server.json of a project. Throws a `CommandError` that names a missing or invalid property of package.json. */
export const describeServer = (project: Project, { registryName, env: variables = [] }: PublishOptions): Described => {
  const { manifest, settings, version, description, title, homepage, repository } = project;
  const { mcpName } = manifest;
  checkVariables(variables);
  const name = registryName ?? (typeof mcpName === "string" ? mcpName : nameFromRepository(project));
  if (name === undefined)
    throw usage('package.json needs "mcpName", the name in the registry, such as "io.github.ann/door", or a "repository" on GitHub.');
  if (!NAME.test(name) || name.length > 200)
    throw usage(
      `${JSON.stringify(name)} is no name in the registry: it is a reversed domain of yours, a slash and a name, such as io.github.ann/door.`,
    );
  if (description === undefined) throw usage('package.json needs "description", of 100 characters at most.');
  if (description.length > MOST_TEXT)
    throw usage(`The "description" of package.json has ${description.length} characters, and the registry takes ${MOST_TEXT}: shorten it.`);
  if (!/^\d+\.\d+\.\d+(?:[-+].+)?$/.test(version)) throw usage(`The version must be one such as 1.0.0, not ${JSON.stringify(version)}.`);
  const { name: identifier, version: own } = manifest;
  const { resource } = settings;
  const isPackage = typeof identifier === "string" && manifest["private"] !== true;
  if (!isPackage && !isPublicUrl(resource))
    throw usage(
      'There is nothing that others could use: package.json is "private" or has no name, and the settings have no "resource", the public https address of the server.',
    );
  const environment = variables.map((variable) => ({ name: variable, isRequired: true, isSecret: true }));
  const source = repository === undefined ? undefined : sourceOf(repository);
  const { bin } = manifest;
  const starts = typeof bin === "string" || (isJsonObject(bin) && Object.keys(bin).length > 0);
  return {
    server: {
      $schema: SCHEMA,
      name,
      ...omitUndefined({ title: title?.slice(0, MOST_TEXT) }),
      description,
      version,
      ...omitUndefined({ websiteUrl: homepage }),
      ...(repository === undefined || source === undefined ? {} : { repository: { url: repository, source } }),
      ...(isPackage
        ? {
            packages: [
              {
                registryType: "npm",
                identifier,
                version: typeof own === "string" ? own : version,
                runtimeHint: "npx",
                transport: { type: "stdio" },
                ...(environment.length === 0 ? {} : { environmentVariables: environment }),
              },
            ],
          }
        : {}),
      ...(isPublicUrl(resource) ? { remotes: [{ type: "streamable-http", url: resource }] } : {}),
    },
    notes: [
      ...(isPackage && mcpName !== name ? [`Add "mcpName": ${JSON.stringify(name)} to package.json: the registry compares it.`] : []),
      ...(isPackage && !starts ? ['package.json has no "bin", so npx cannot start it: add a script that serves on stdio.'] : []),
    ],
  };
};

const STEPS = [
  "Troupe does not publish by itself. Four steps do it:",
  "  1. npm publish                              the package, if others shall start the server",
  "  2. troupe publish --dry-run > server.json   the description",
  "  3. mcp-publisher login github               of github.com/modelcontextprotocol/registry",
  "  4. mcp-publisher publish",
].join("\n");

/** Prints the description, or how to publish it. */
const publish = async (options: PublishOptions): Promise<void> => {
  const out = output(options);
  if (options.dryRun !== true) {
    out.show(
      {
        published: false,
        steps: ["npm publish", "troupe publish --dry-run > server.json", "mcp-publisher login github", "mcp-publisher publish"],
      },
      () => STEPS,
    );
    return;
  }
  const { readProject } = await import("../project.ts");
  const { server, notes } = describeServer(await readProject(omitUndefined({ config: options.config }), false), options);
  out.show(server, () => JSON.stringify(server, null, 2));
  for (const note of notes) out.note(note);
};
