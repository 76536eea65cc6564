// The guide to migrating is tested: its code, and that each name of its table can be imported.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor, refuse } from "troupe";
import type { Viewer } from "troupe/contract";
import { fromMcpServer, type McpServerOptions } from "troupe/mount";
import {
  type Arguments,
  audio,
  blob,
  content,
  contents,
  createServer,
  embeddedResource,
  failure,
  image,
  type Item,
  type Listening,
  message,
  messages,
  type PromptArgument,
  type PromptDefinition,
  type PromptHandler,
  type Prompts,
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
  type Variables,
} from "troupe/server";
import type { Complete } from "troupe/source";
import { memoryStreamStore, sqliteSessionStores } from "troupe/store";
import { testServer } from "troupe/testing";
import { authenticator } from "troupe/transport";
import { assertTestedCode, guideCalled, namesInTable } from "../guide-code.ts";

const guide = guideCalled("migrating.md");

test("the guide to migrating: its code is part of the tested examples #server.sdk", () => {
  assertTestedCode(guide, "examples/migrating/*.ts");
});

// One entry per name of the table: this object does not compile where one is missing.
const named = {
  actor,
  audio,
  authenticator,
  blob,
  content,
  contents,
  createServer,
  embeddedResource,
  failure,
  fromMcpServer,
  image,
  memoryStreamStore,
  message,
  messages,
  refuse,
  resourceLink,
  sqliteSessionStores,
  testServer,
  text,
  Arguments: (one: Arguments<undefined>) => one,
  Complete: (one: Complete) => one,
  Item: (one: Item) => one,
  Listening: (one: Listening<{ stdio: true }>) => one,
  PromptArgument: (one: PromptArgument) => one,
  PromptDefinition: (one: PromptDefinition<readonly PromptArgument[]>) => one,
  PromptHandler: (one: PromptHandler<readonly PromptArgument[]>) => one,
  Prompts: (one: Prompts) => one,
  ResourceDefinition: (one: ResourceDefinition<string>) => one,
  ResourceHandler: (one: ResourceHandler<string>) => one,
  Resources: (one: Resources) => one,
  Server: (one: Server) => one,
  ServerContext: (one: ServerContext) => one,
  ToolDefinition: (one: ToolDefinition<undefined, undefined>) => one,
  ToolHandler: (one: ToolHandler<undefined, undefined>) => one,
  Tools: (one: Tools) => one,
  Variables: (one: Variables<string>) => one,
  Viewer: (one: Viewer) => one,
};

test("the guide to migrating: its table has each name that can be imported, and no other", () => {
  assert.deepEqual(namesInTable(guide, "| SDK | here | imported |", 3), Object.keys(named).toSorted());
  for (const one of Object.values(named)) assert.equal(typeof one, "function");
});

// Every option once: a new option that is missing here does not compile.
const options: Readonly<Record<keyof Omit<McpServerOptions, "clock" | "entropy">, true>> = {
  instructions: true,
  authInfo: true,
  clientCapabilities: true,
  callMs: true,
  listMs: true,
  askMs: true,
  idleMs: true,
  maxServers: true,
  maxAsking: true,
  maxListed: true,
  maxLength: true,
  onLog: true,
  onFault: true,
};

test("the guide has every option", () => {
  assert.deepEqual(namesInTable(guide, "| option | default | |", 1), Object.keys(options).toSorted());
});
