export { isOpenTelemetryApi, type OpenTelemetryApi } from "./api.ts";
export { isHeard, openTelemetry } from "./open-telemetry.ts";
