import type { Json, LogLevel } from "../../core/contract/index.ts";

const LEVELS: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** What is no level of MCP's is told as `info`. */
export function levelOf(said: Json | undefined): LogLevel {
  return LEVELS.find((level) => level === said) ?? "info";
}
