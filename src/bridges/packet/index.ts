export type { ActorCapabilityDefinition, ActorRun, ActorView, ActorWork, FirstTimes } from "./actor-definition.ts";
export { Actors, type ActorsOptions, type Replied, type Sending } from "./actors.ts";
export { Capabilities, type Criteria } from "./capabilities.ts";
export type {
  ActorRef,
  ActorState,
  Acts,
  Capability,
  Executes,
  ExecutionContext,
  ForeignResult,
  ForeignServer,
  Given,
  OfferedTool,
  Offers,
  Routed,
} from "./capability.ts";
export {
  type Asking,
  packetClient,
  type PacketClient,
  type PacketClientOptions,
  type PacketToSend,
  type RequestOptions,
  type SendOptions,
} from "./client.ts";
export { PacketClientError, type PacketClientCode } from "./client-error.ts";
export { errorIn } from "./client-reply.ts";
export { type ActorsConfig, type Config, type ConfigInput, type McpConfig, readConfig } from "./config.ts";
export { actorCapability, type ActorCapability } from "./define-actor.ts";
export {
  capability,
  type CapabilityDefinition,
  type Described,
  mcpCapability,
  type Payload,
  type Returned,
  type ToolDefinition,
  type ToolsDefinition,
} from "./define-capability.ts";
export { PACKET_PROTOCOL, packetEndpoints, type PacketEndpoints, type PacketEndpointsOptions } from "./endpoints.ts";
export { type AuditLevel, auditLog, counter, type Effect, type Emitted, histogram } from "./effect.ts";
export type { ForeignCaller, ForeignServersOptions, HttpServer, StdioServer } from "./foreign-options.ts";
export { foreignServers, type ForeignServers } from "./foreign-servers.ts";
export type { CapabilityState } from "./capability-state.ts";
export type { Pattern, PayloadOf } from "./match.ts";
export { McpTunnel, type TunnelOptions } from "./mcp-tunnel.ts";
export { capabilityOf, type OfActorOptions } from "./of-actor.ts";
export type { PacketEcho } from "./packet-echo.ts";
export { DEFAULT_PACKET_LIMITS, type PacketLimits } from "./packet-limits.ts";
export { REPLY_PACKET_SCHEMA, REQUEST_PACKET_SCHEMA } from "./packet-schema.ts";
export { readPacket, RefusedPacket } from "./read-packet.ts";
export { ERROR_TYPES, PacketError, type PacketErrorType } from "./packet-error.ts";
export { type ChainPlan, type ChainRan, planChain, runChain, type Step } from "./plan.ts";
export { type FlowSourceOptions, PacketFlow, type PacketFlowOptions, type PacketSession, type Reception } from "./packet-flow.ts";
export {
  type ActorOptions,
  PACKET_VERSION,
  type PacketContext,
  type Persistence,
  REPLY_TYPES,
  type ReplyPacket,
  type ReplyType,
  REQUEST_TYPES,
  type RequestPacket,
  type RequestType,
} from "./packet.ts";
export { type Ran, Running, type RunOptions } from "./running.ts";
export { type Searches, searchesOf } from "./search-capability.ts";
export { type Hit, type Search, searchIndex, type SearchIndexOptions, type SearchKind, type SearchOptions } from "./search/index.ts";
export type { Servers } from "./servers.ts";
export { capabilitySource, type CapabilitySourceOptions } from "./source.ts";
export type { Expose } from "./tool-book.ts";
export { toolsOf } from "./tool-schema.ts";
export { type ActorTimes, idle, lifetime, never, type Timeout } from "./timeout.ts";
