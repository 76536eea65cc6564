// The guide to servers is true: its code is code that is tested, and each name of its table is one that can be imported.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import {
  type Arguments,
  audio,
  type Block,
  blob,
  content,
  contents,
  createServer,
  embeddedResource,
  failure,
  image,
  message,
  messages,
  type PromptArgument,
  type PromptDefinition,
  type PromptHandler,
  type Prompts,
  type ResourceContent,
  type ResourceDefinition,
  type ResourceHandler,
  resourceLink,
  type Resources,
  type Server,
  type ServerContext,
  text,
  type ToolDefinition,
  type ToolHandler,
  type Tools,
} from "troupe/server";

const root = resolve(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guide/server.md"), "utf8");
const unspaced = (code: string): string => code.replace(/\s+/g, "");

test("the guide's code is part of the examples, which are tested", () => {
  const examples = globSync("examples/server/*.ts", { cwd: root, exclude: ["**/*.test.ts"] });
  const texts = examples.map((file) => unspaced(readFileSync(join(root, file), "utf8")));
  const shown = Array.from(guide.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, inner = ""]) => inner);
  assert.ok(shown.length > 8);
  for (const code of shown)
    assert.ok(
      texts.some((whole) => whole.includes(unspaced(code))),
      code,
    );
});

// One type per name of the table: this object does not compile where one is missing.
const named = {
  createServer,
  content,
  failure,
  text,
  image,
  audio,
  resourceLink,
  embeddedResource,
  blob,
  contents,
  messages,
  message,
  Server: (one: Server) => one,
  Tools: (one: Tools) => one,
  Resources: (one: Resources) => one,
  Prompts: (one: Prompts) => one,
  ToolHandler: (one: ToolHandler<undefined, undefined>) => one,
  ServerContext: (one: ServerContext) => one,
  ToolDefinition: (one: ToolDefinition<undefined, undefined>) => one,
  Arguments: (one: Arguments<undefined>) => one,
  Block: (one: Block) => one,
  ResourceHandler: (one: ResourceHandler<string>) => one,
  ResourceDefinition: (one: ResourceDefinition<string>) => one,
  ResourceContent: (one: ResourceContent) => one,
  PromptHandler: (one: PromptHandler<readonly PromptArgument[]>) => one,
  PromptDefinition: (one: PromptDefinition<readonly PromptArgument[]>) => one,
  PromptArgument: (one: PromptArgument) => one,
};

test("each name the table maps to is imported from troupe/server, and none besides", () => {
  const [, table = ""] = guide.split("| Go | here | imported |\n");
  const told = table.split("\n").flatMap((row) => Array.from((row.split("|")[3] ?? "").matchAll(/`(\w+)`/g), ([, name = ""]) => name));
  assert.deepEqual(told.toSorted(), Object.keys(named).toSorted());
  for (const one of Object.values(named)) assert.equal(typeof one, "function");
});
