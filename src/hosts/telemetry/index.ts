export { isOpenTelemetryApi, type OpenTelemetryApi } from "./api.ts";
export { flush } from "./flush.ts";
export { isHeard, openTelemetry } from "./open-telemetry.ts";
