import { isLoopback } from "../mcp/transport/listen.ts";
import { usage } from "./exit-code.ts";
import { httpAddress } from "./listeners.ts";
import type { ServeOptions } from "./options.ts";

/**
 * Whether there is a console: where it was requested, and in development on this machine. Throws a `CommandError` where everyone who
 * reaches the server could use it.
 */
export const wantsConsole = (options: ServeOptions, inDevelopment: boolean): boolean => {
  const at = httpAddress(options);
  if (options.console === false || at === undefined) return false;
  const authenticated = options.apiKeys !== undefined || options.jwks !== undefined;
  const exposed = !isLoopback(at.host) && !authenticated;
  if (options.console !== true) return inDevelopment && !exposed;
  if (exposed)
    throw usage(
      `--console shows and changes every actor, so beyond this machine its users sign in: give --api-keys or --jwks, or --http 127.0.0.1:${at.port}.`,
    );
  return true;
};
