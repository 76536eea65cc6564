export { clientResult } from "./result-shapes.ts";
export { createGateway } from "./gateway.ts";
export type { FaultKind } from "./errors.ts";
export type { Rate } from "../../core/contract/index.ts";
export type { ProfileName, UnknownSession } from "./dialects.ts";
export type { CacheHint, GatewayOptions, Limits, ServerInfo } from "./options.ts";
export { refusal, refusalText } from "./errors.ts";
export { LEGACY_REVISIONS, MODERN_REVISIONS } from "./revision.ts";
