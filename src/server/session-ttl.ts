import { type Log, sessionTtlIn } from "../contract/index.ts";

/** What of a server's options its sessions' time to live comes from. */
export interface TtlOptions {
  readonly sessionTtlMs?: number;
  /** Variables of the environment. Default: `process.env`, where there is one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
}

/** In milliseconds: `sessionTtlMs`, else `MCP_SESSION_TTL_MINUTES`, else 60 minutes. */
export function sessionTtl({ sessionTtlMs, env, log }: TtlOptions): number {
  return (
    sessionTtlMs ??
    sessionTtlIn(env ?? (typeof process === "undefined" ? {} : process.env), (given) =>
      log?.("warning", {
        event: "session-ttl-refused",
        given: given.slice(0, 32),
        minutes: 60,
        text: "MCP_SESSION_TTL_MINUTES is no positive whole number of minutes: sessions end after 60 minutes without a request.",
      }),
    )
  );
}
