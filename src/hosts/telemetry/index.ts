export { isOpenTelemetryApi, type OpenTelemetryApi } from "./api.ts";
export { flush } from "./open-telemetry.ts";
export { isHeard, openTelemetry } from "./open-telemetry.ts";
