// Code of a project with either SDK, which has to match Troupe's emitted declarations.
import { McpServer as McpServerV1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { Server as ServerV1 } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer as McpServerV2, Server as ServerV2 } from "@modelcontextprotocol/server";
import { fromMcpServer, type McpServerSource } from "troupe/mount";

const INFO = { name: "fits", version: "1.0.0" };

export const mounted: readonly McpServerSource[] = [
  fromMcpServer(new McpServerV1(INFO)),
  fromMcpServer(new ServerV1(INFO)),
  fromMcpServer(new McpServerV2(INFO)),
  fromMcpServer(new ServerV2(INFO)),
  fromMcpServer(() => new McpServerV1(INFO)),
  fromMcpServer(async ({ principal }) => new McpServerV2({ name: principal ?? "anonymous", version: "1.0.0" })),
];

// @ts-expect-error an object without `connect` is not a server
export const wrong = fromMcpServer({ close: () => Promise.resolve() });
