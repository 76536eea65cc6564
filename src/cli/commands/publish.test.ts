import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { JsonObject } from "../../core/contract/index.ts";
import type { Project } from "../project.ts";
import { describeServer, SCHEMA } from "./publish.ts";

/** The rules of the registry's schema of 2025-12-11, as far as a description of ours goes. Unknown properties are refused here. */
const rules = z.strictObject({
  $schema: z.literal(SCHEMA),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100).optional(),
  description: z.string().min(1).max(100),
  version: z.string().min(1).max(255),
  websiteUrl: z.url().optional(),
  repository: z.strictObject({ url: z.url(), source: z.enum(["github", "gitlab"]) }).optional(),
  packages: z
    .array(
      z.strictObject({
        registryType: z.literal("npm"),
        identifier: z.string(),
        version: z.string().regex(/^\d+\.\d+\.\d+/),
        runtimeHint: z.literal("npx"),
        transport: z.strictObject({ type: z.literal("stdio") }),
        environmentVariables: z.array(z.strictObject({ name: z.string(), isRequired: z.boolean(), isSecret: z.boolean() })).optional(),
      }),
    )
    .optional(),
  remotes: z.array(z.strictObject({ type: z.literal("streamable-http"), url: z.url() })).optional(),
});

const projectOf = (manifest: JsonObject, settings: JsonObject = {}): Project => ({
  folder: "/door",
  manifest,
  settings,
  modules: [],
  name: "door",
  version: typeof manifest["version"] === "string" ? manifest["version"] : "0.0.0",
  ...(typeof manifest["description"] === "string" ? { description: manifest["description"] } : {}),
  ...(typeof manifest["repository"] === "string" ? { repository: manifest["repository"] } : {}),
});

const MANIFEST: JsonObject = {
  name: "@ann/door",
  version: "1.2.0",
  mcpName: "io.github.ann/door",
  description: "A door that can be opened.",
  repository: "https://github.com/ann/door",
  bin: "serve.js",
};

void test("a project's description is valid by the registry's schema #cli.publish", () => {
  const { server, notes } = describeServer(projectOf(MANIFEST), { env: ["API_KEY"] });
  const described = rules.parse(server);
  assert.equal(described.name, "io.github.ann/door");
  assert.equal(described.packages?.[0]?.identifier, "@ann/door");
  assert.deepEqual(described.packages?.[0]?.environmentVariables, [{ name: "API_KEY", isRequired: true, isSecret: true }]);
  assert.deepEqual(notes, []);
});

void test("a server at a public address is described without a package", () => {
  const { server } = describeServer(projectOf({ ...MANIFEST, private: true }, { resource: "https://mcp.example/mcp" }), {});
  const described = rules.parse(server);
  assert.equal(described.packages, undefined);
  assert.deepEqual(described.remotes, [{ type: "streamable-http", url: "https://mcp.example/mcp" }]);
});

void test("the registry name defaults to the repository's, with a note on mcpName", () => {
  const { mcpName: _, bin: __, ...rest } = MANIFEST;
  const { server, notes } = describeServer(projectOf(rest), {});
  assert.equal(rules.parse(server).name, "io.github.ann/door");
  assert.match(notes.join("\n"), /"mcpName": "io\.github\.ann\/door"[^]*no "bin"/);
});

void test("an invalid name of an environment variable is refused", () => {
  assert.throws(() => describeServer(projectOf(MANIFEST), { env: ["A b"] }), /name of an environment variable/);
});

for (const [change, says] of [
  [{ mcpName: "door" }, /is no name in the registry/],
  [{ mcpName: null, repository: "" }, /needs "mcpName"/],
  [{ description: "" }, /needs "description"/],
  [{ description: "x".repeat(101) }, /101 characters/],
  [{ version: "^1.0.0" }, /must be one such as 1\.0\.0/],
  [{ private: true }, /nothing that others could use/],
] as const)
  void test(`a project that the registry would refuse is refused: ${JSON.stringify(change).slice(0, 60)}`, () => {
    const project = projectOf({ ...MANIFEST, ...change });
    const { description, ...without } = project;
    assert.throws(() => describeServer(description === "" ? without : project, {}), says);
  });
