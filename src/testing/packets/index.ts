export type { McpError, McpRequest, McpResponse, McpResult } from "./mcp-exchange.ts";
export { packetTest, type PacketTest, type PacketTestOptions } from "./packet-test.ts";
export type { Where } from "./effect-assertions.ts";
export type { ActorKind, StartOptions, StartTestActor, TestActor } from "./test-actor.ts";
export type { Partially } from "./state-assertion.ts";
