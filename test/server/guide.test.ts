// The guide to servers is true: its code is code that is tested, and each name of its table is one that can be imported.
import assert from "node:assert/strict";
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
import { assertShownCode, guideCalled, namesInTable } from "../guide-code.ts";

const guide = guideCalled("server.md");

test("the guide's code is part of the examples, which are tested", () => {
  assertShownCode(guide, "examples/server/*.ts");
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

test("each name the table maps to is imported from troupe/server, and none besides #apptheory.transport.mount", () => {
  assert.deepEqual(namesInTable(guide, "| Go | here | imported |", 3), Object.keys(named).toSorted());
  for (const one of Object.values(named)) assert.equal(typeof one, "function");
});
