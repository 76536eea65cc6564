export { createGateway } from "./gateway.ts";
export type { FaultKind } from "./errors.ts";
export type { GatewayOptions, Limits, Rate, ServerInfo } from "./options.ts";
export { refusal, refusalText } from "./refusal.ts";
export { LEGACY_REVISIONS, MODERN_REVISIONS } from "./revision.ts";
