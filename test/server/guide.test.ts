// The code of the pages about servers is tested, and each name of their table can be imported.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
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
import { hashApiKey } from "troupe/transport";
import { assertTestedCode, guideCalled, namesInTable } from "../guide-code.ts";

const PAGES = [
  "apptheory.md",
  "authentication.md",
  "http.md",
  "mount.md",
  "serve-actors.md",
  "server-options.md",
  "server.md",
  "sessions.md",
  "tasks.md",
  "telemetry.md",
  "transports.md",
];

test("code in the pages about servers is part of the tested examples", () => {
  assertTestedCode(PAGES.map(guideCalled).join("\n"), "examples/{migrating,server}/*.ts");
});

test("the commands in the page about authentication make a key and its hash", async () => {
  const [, commands = ""] = /```sh\n([\s\S]*?)\n```/.exec(guideCalled("authentication.md")) ?? [];
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
  const { stdout } = await promisify(execFile)("bash", ["-euc", `${commands}\necho "$KEY $KEY_SHA256"`], { env });
  const [key = "", sha256] = stdout.trim().split(" ");
  assert.equal(key.length, 64);
  assert.equal(sha256, hashApiKey(key));
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

test("the table maps to every export of troupe/server, and to no other #apptheory.transport.mount", () => {
  assert.deepEqual(namesInTable(guideCalled("apptheory.md"), "| Go | here | imported |", 3), Object.keys(named).toSorted());
  for (const one of Object.values(named)) assert.equal(typeof one, "function");
});
