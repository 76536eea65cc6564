export { defaultAuthInfo } from "./options.ts";
export { fromMcpServer, type McpServerSource } from "./from-mcp-server.ts";
export type { SdkServerFor } from "./from-mcp-server.ts";
export type { McpServerOptions } from "./options.ts";
export type { SdkServer, SdkTransport } from "./options.ts";
