import { type Clock } from "../../core/contract/index.ts";
import type { ForeignServer } from "./capability.ts";
import type { ForeignCaller } from "./foreign-options.ts";
import type { ForeignServers } from "./foreign-servers.ts";
import { forRecord, inRecord, type Recording } from "./in-record.ts";

export interface ServerRecording extends Recording {
  /** The server's name in the configuration. */
  readonly server: string;
}

/** Servers by name as an actor's work calls them: each call ends with the work, tells its progress, and is kept in its event. */
export const recordedServers =
  (servers: Pick<ForeignServers, "get">, clock: Clock, { record, ...caller }: ForeignCaller & Pick<Recording, "record">) =>
  (server: string): ForeignServer =>
    recorded(servers.get(server, caller), { server, clock, record });

/** The same server; each call is kept in the event of the turn that made it: `{ mcp: { server, tool, args, result | error, ms } }`. */
export function recorded(foreign: ForeignServer, { server, ...recording }: ServerRecording): ForeignServer {
  return {
    tools: () => foreign.tools(),
    call: (tool, args = {}) =>
      inRecord(
        recording,
        "mcp",
        // As they are now: the author may change them while the call is under way.
        { server, tool, args: forRecord(args) },
        () => foreign.call(tool, args),
        // `text` says the same once more.
        ({ content, structured }) => (structured === undefined ? { content } : { content, structured }),
      ),
  };
}
