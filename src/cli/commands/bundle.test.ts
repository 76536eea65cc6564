import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Project } from "../project.ts";
import { bundleManifest } from "./bundle.ts";

/** The rules of MCP bundles' manifest for Node servers. Unknown properties are refused, as by the schema. */
const rules = z.strictObject({
  manifest_version: z.literal("0.3"),
  name: z.string().min(1),
  display_name: z.string().min(1),
  version: z.string().min(1),
  description: z.string().min(1),
  author: z.strictObject({ name: z.string().min(1), email: z.email().optional(), url: z.url().optional() }),
  repository: z.strictObject({ type: z.string(), url: z.url() }).optional(),
  homepage: z.url().optional(),
  server: z.strictObject({
    type: z.literal("node"),
    entry_point: z.string(),
    mcp_config: z.strictObject({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()).optional() }),
  }),
  tools_generated: z.boolean(),
  prompts_generated: z.boolean(),
  keywords: z.array(z.string()).optional(),
  license: z.string().optional(),
  compatibility: z.strictObject({
    platforms: z.array(z.enum(["darwin", "win32", "linux"])).optional(),
    runtimes: z.strictObject({ node: z.string() }),
  }),
  user_config: z
    .record(
      z.string(),
      z.strictObject({
        type: z.literal("string"),
        title: z.string(),
        description: z.string(),
        sensitive: z.boolean(),
        required: z.boolean(),
      }),
    )
    .optional(),
});

const PROJECT: Project = { folder: "/door", manifest: {}, settings: {}, modules: ["/door/door.ts"], name: "door", version: "1.2.0" };
const LAUNCH = { entryPoint: "a.js", args: ["${__dirname}/a.js"], variables: [] };

void test("a bundle's manifest is valid, however little the project declares", () => {
  const least = rules.parse(bundleManifest(PROJECT, LAUNCH));
  assert.deepEqual([least.display_name, least.author, least.description], ["door", { name: "door" }, "The MCP server door."]);
});

void test("author, licence and links of package.json are in the manifest if they are valid", () => {
  const full = rules.parse(
    bundleManifest(
      {
        ...PROJECT,
        title: "The door",
        description: "It opens.",
        homepage: "https://door.example",
        repository: "https://github.com/ann/door",
        manifest: { author: "Ann <ann@example.com> (https://ann.example)", keywords: ["door"], license: "MIT" },
      },
      { ...LAUNCH, variables: ["API_KEY"], platform: "linux" },
    ),
  );
  assert.deepEqual(full.author, { name: "Ann", email: "ann@example.com", url: "https://ann.example" });
  assert.deepEqual(full.server.mcp_config.env, { API_KEY: "${user_config.api_key}" });
  assert.equal(full.user_config?.["api_key"]?.sensitive, true);
  assert.deepEqual(full.compatibility.platforms, ["linux"]);
  for (const author of ["", 5, {}, { name: "Ann", email: "none", url: "none" }, "Ann <none> (none)"])
    rules.parse(bundleManifest({ ...PROJECT, manifest: { author } }, LAUNCH));
});
