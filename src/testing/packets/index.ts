export type { McpError, McpRequest, McpResponse, McpResult } from "./packet-test.ts";
export { packetTest, type PacketTest, type PacketTestOptions } from "./packet-test.ts";
export type { Where } from "./assertions.ts";
export type { ActorKind, StartOptions, StartTestActor, TestActor } from "./test-actor.ts";
export type { Partially } from "./assertions.ts";
