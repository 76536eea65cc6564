const MINUTE_MS = 60_000;
const DEFAULT_MINUTES = 60;

/**
 * A session's time to live in milliseconds, from `MCP_SESSION_TTL_MINUTES`: a positive whole number of minutes. Without it, and
 * with anything else, 60 minutes; `refused` hears of the latter.
 */
export function sessionTtlIn(variables: Readonly<Record<string, string | undefined>>, refused?: (text: string) => void): number {
  const text = variables["MCP_SESSION_TTL_MINUTES"];
  if (text === undefined) return DEFAULT_MINUTES * MINUTE_MS;
  const minutes = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
  if (minutes > 0) return minutes * MINUTE_MS;
  refused?.(text);
  return DEFAULT_MINUTES * MINUTE_MS;
}
