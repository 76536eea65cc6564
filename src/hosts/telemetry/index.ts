export { isOpenTelemetryApi, type OpenTelemetryApi } from "./api.ts";
export { flush, isHeard, openTelemetry } from "./open-telemetry.ts";
