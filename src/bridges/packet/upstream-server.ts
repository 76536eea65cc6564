import type { CancelSignal, Clock, Progress } from "../../core/contract/index.ts";
import type { JsonBounds } from "./packet-json.ts";
import { PacketError } from "./packet.ts";
import type { ForeignServers } from "./upstream-servers.ts";

/** A process that speaks MCP on its standard input and output. */
export interface StdioServer {
  /** The executable itself rather than a wrapper as `npx`, which may leave it behind where it has to be killed. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Beside PATH and HOME it gets nothing of this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: never;
}

/** A server behind streamable HTTP. */
export interface HttpServer {
  /** `http:` or `https:`. */
  readonly url: string;
  /** With each request, as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: never;
}

/** What `foreignServers` takes: the MCP servers that capabilities may call, by name. */
export interface ForeignServersOptions {
  readonly servers: Readonly<Record<string, StdioServer | HttpServer>>;
  readonly clock: Clock;
  /** Of one call, and of one attempt to connect. Default 30,000. */
  readonly timeoutMs?: number;
  /** Of the arguments, and of the result, as JSON. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Of lists and objects within each other, there. Default 64. */
  readonly maxDepth?: number;
  /** Calls under way at once, for each server. Default 100. */
  readonly maxCalls?: number;
  /** Lines a process writes to its standard error: cut where they are long, dropped where they are many. */
  readonly log?: (server: string, line: string) => void;
}

/** On whose behalf a server is called. */
export interface ForeignCaller {
  /** Aborted: the server is told that the call is cancelled. */
  readonly signal?: CancelSignal;
  readonly progress?: Progress;
}

/** How one server is spoken to. */
export interface UpstreamLinkOptions extends JsonBounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxCalls: number;
  readonly log: (line: string) => void;
}

/** How a capability reaches other tool servers, by their names in the configuration. */
export type Servers = Pick<ForeignServers, "get">;

export const noServers: Servers = {
  get(name) {
    throw new PacketError(
      "execution_failed",
      `There is no tool server ${JSON.stringify(name)}: name it in the configuration, under mcp.servers.`,
    );
  },
};
