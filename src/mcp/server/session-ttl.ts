import { sessionTtlIn } from "../../core/contract/index.ts";
import type { ServerOptions } from "./options.ts";

/** In milliseconds: `sessionTtlMs`, else `MCP_SESSION_TTL_MINUTES`, else 60 minutes. */
export function sessionTtl({ sessionTtlMs, env, log }: Pick<ServerOptions, "sessionTtlMs" | "env" | "log">): number {
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
