export { isOpenTelemetryApi, type OpenTelemetryApi } from "./open-telemetry-api.ts";
export { flush, isHeard, openTelemetry } from "./open-telemetry.ts";
