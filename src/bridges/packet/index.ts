export {
  actorCapability,
  type ActorCapability,
  type ActorCapabilityDefinition,
  type ActorRun,
  type ActorView,
  type ActorWork,
} from "./define-actor.ts";
export type { FirstTimes } from "./actor-state.ts";
export { Actors, type ActorsOptions, type Replied, type Sending } from "./actors.ts";
export { Capabilities, type Criteria } from "./capabilities.ts";
export {
  type ActorRef,
  type ActorState,
  type ActorTimes,
  type Acts,
  type AuditLevel,
  auditLog,
  type Capability,
  type CapabilityState,
  counter,
  type Effect,
  type Emitted,
  type Executes,
  type ExecutionContext,
  type Given,
  histogram,
  type OfferedTool,
  type Offers,
  type Ran,
  type Routed,
  type RunOptions,
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
export {
  type ActorOptions,
  DEFAULT_PACKET_LIMITS,
  ERROR_TYPES,
  errorIn,
  PACKET_PROTOCOL,
  PACKET_VERSION,
  type PacketContext,
  PacketError,
  type PacketErrorType,
  type PacketLimits,
  type Persistence,
  REPLY_TYPES,
  type ReplyPacket,
  type ReplyType,
  REQUEST_TYPES,
  type RequestPacket,
  type RequestType,
} from "./packet.ts";
export { type ActorsConfig, type Config, type ConfigInput, type McpConfig, readConfig } from "./config.ts";
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
export { packetEndpoints, type PacketEndpoints, type PacketEndpointsOptions } from "./endpoints.ts";
export type {
  ForeignCaller,
  ForeignResult,
  ForeignServer,
  ForeignServers,
  ForeignServersOptions,
  HttpServer,
  Servers,
  StdioServer,
} from "./upstream-interface.ts";
export { foreignServers } from "./upstream-servers.ts";
export type { Pattern, PayloadOf } from "./actor-handlers.ts";
export { McpTunnel, type TunnelOptions } from "./mcp-tunnel.ts";
export { capabilityOf, type OfActorOptions } from "./kind-capability.ts";
export { type PacketEcho, readPacket, RefusedPacket } from "./read-packet.ts";
export { REPLY_PACKET_SCHEMA, REQUEST_PACKET_SCHEMA } from "./packet-schema.ts";
export { type ChainPlan, type ChainRan, planChain, runChain, type Step } from "./chain-plan.ts";
export { type FlowSourceOptions, PacketFlow, type PacketFlowOptions, type PacketSession, type Reception } from "./packet-flow.ts";
export { Running } from "./running.ts";
export { type Searches, searchesOf } from "./search-capability.ts";
export { type Hit, type Search, searchIndex, type SearchIndexOptions, type SearchOptions } from "./search/search.ts";
export type { SearchKind } from "./search/searchable-fields.ts";
export { capabilitySource, type CapabilitySourceOptions } from "./capability-source.ts";
export { type Expose, toolsOf } from "./mcp-tools.ts";
export { idle, lifetime, never, type Timeout } from "./actor-timers.ts";
