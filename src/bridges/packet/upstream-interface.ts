// Owns: how upstream MCP servers are configured, and how a capability reaches them by name.
//   Does not own: the connections to them (upstream-servers.ts).
import type { CancelSignal, Clock, Closable, Json, JsonObject, Progress } from "../../core/contract/index.ts";
import type { OfferedTool } from "./capability.ts";
import type { JsonBounds } from "./packet-json.ts";
import { PacketError } from "./packet.ts";

/** A process that speaks MCP on its standard input and output. */
export interface StdioServer {
  /** The executable itself rather than a wrapper such as `npx`, which may leave it running when it is killed. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Environment variables. Of this process's environment it gets only PATH, HOME and what its platform needs to find programs. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: never;
  readonly headers?: never;
}

/** A server behind streamable HTTP. */
export interface HttpServer {
  /** `http:` or `https:`. */
  readonly url: string;
  /** Sent with each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: never;
}

/** Options of `foreignServers`: the MCP servers that capabilities may call, by name. */
export interface ForeignServersOptions {
  readonly servers: Readonly<Record<string, StdioServer | HttpServer>>;
  readonly clock: Clock;
  /** Limit on one call, and on one attempt to connect, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Largest arguments, and largest result, as JSON. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Their nesting of lists and objects. Default 64. */
  readonly maxDepth?: number;
  /** Concurrent calls for each server. Default 100. */
  readonly maxCalls?: number;
  /** Receives lines that a process writes to its standard error. Long lines are cut, and too many are dropped. */
  readonly log?: (server: string, line: string) => void;
}

/** The caller of a server. */
export interface ForeignCaller {
  /** Aborted: the call is cancelled on the server too. */
  readonly signal?: CancelSignal;
  readonly progress?: Progress;
}

/** Options of one server's connection. */
export interface UpstreamLinkOptions extends JsonBounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxCalls: number;
  readonly log: (line: string) => void;
}

/** Upstream MCP servers, each with one connection that all callers share. Disposing closes the connections and ends the processes. */
export interface ForeignServers extends Closable {
  readonly names: readonly string[];
  /** Connects at the first call. Throws `PacketError` (`execution_failed`) for a name that is not configured. */
  get(name: string, caller?: ForeignCaller): ForeignServer;
}

/** Another MCP server, as a capability calls it. */
export interface ForeignServer {
  /** Throws `PacketError` (`execution_failed`) if the server cannot be reached or the tool failed. */
  call(tool: string, args?: JsonObject): Promise<ForeignResult>;
  tools(): Promise<readonly OfferedTool[]>;
}

/** The result of a tool of another MCP server, as a capability receives it. */
export interface ForeignResult {
  readonly content: readonly Json[];
  readonly structured?: Json;
  /** All text blocks, joined by line feeds. */
  readonly text: string;
}

/** The upstream servers by their names in the configuration. */
export type Servers = Pick<ForeignServers, "get">;

export const noServers: Servers = {
  get(name) {
    throw new PacketError(
      "execution_failed",
      `There is no tool server ${JSON.stringify(name)}: name it in the configuration, under mcp.servers.`,
    );
  },
};
