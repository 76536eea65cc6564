import type { Authenticator } from "../mcp/transport/index.ts";
import { isLoopback } from "../mcp/transport/listen.ts";
import { usage } from "./exit-code.ts";
import type { ServeOptions } from "./options.ts";

/**
 * Who calls over HTTP in development: everybody is the principal of `--as`, whatever token there is. Undefined without `--as`. Throws a
 * `CommandError` for an address that others than this machine reach.
 */
export const devCaller = ({ as: principal, scope = [], http }: Pick<ServeOptions, "as" | "scope" | "http">): Authenticator | undefined => {
  if (principal === undefined) return undefined;
  if (http !== undefined && !isLoopback(http.host))
    throw usage(
      `--as makes every caller over HTTP ${JSON.stringify(principal)} without a key, so it is for this machine alone: give --http 127.0.0.1:${http.port}, or --api-keys instead of --as.`,
    );
  const verdict = { caller: { principal, scopes: scope } };
  return { scopes: [], issuers: [], needsResource: false, check: () => verdict, metadata: () => ({}) };
};
