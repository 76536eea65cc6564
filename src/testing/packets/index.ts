export type { Partially, Where } from "./packet-assertions.ts";
export {
  type McpError,
  type McpRequest,
  type McpResponse,
  type McpResult,
  type PacketTest,
  packetTest,
  type PacketTestOptions,
} from "./packet-test.ts";
export type { ActorKind, StartOptions, StartTestActor, TestActor } from "./packet-actors.ts";
