import { TroupeError } from "../../../core/contract/index.ts";
import { isLoopback } from "../../../mcp/transport/listen.ts";

/** The protocol has no authentication, so listening beyond loopback must be requested explicitly. */
export function refuseOpenListener(host: string, insecure: boolean): void {
  if (insecure || isLoopback(host)) return;
  throw new TroupeError(
    "UNSAFE_LISTENER",
    `Theater's protocol has no authentication, and on ${host} everybody who reaches this machine could start and stop actors: ` +
      "listen on 127.0.0.1 or at a Unix socket, or say insecure (--insecure-no-auth on the command line) when something in front of it authenticates.",
  );
}
