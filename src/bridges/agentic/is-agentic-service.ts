import type { AgenticService } from "./agentic-service.ts";

/** By its shape: the interface is structural, and a service need not come from any library. */
export const isAgenticService = (value: unknown): value is AgenticService =>
  typeof value === "object" &&
  value !== null &&
  "states" in value &&
  typeof value.states === "function" &&
  "actions" in value &&
  typeof value.actions === "function" &&
  "execute" in value &&
  typeof value.execute === "function";
