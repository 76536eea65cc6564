export { defaultAuthInfo } from "./auth-info.ts";
export { fromMcpServer, type McpServerSource } from "./from-mcp-server.ts";
export type { SdkServerFor } from "./mounted-servers.ts";
export type { McpServerOptions } from "./options.ts";
export type { SdkServer, SdkTransport } from "./sdk-server.ts";
