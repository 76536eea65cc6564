import type { Source } from "../../core/contract/index.ts";
import { describeSource } from "../source/index.ts";
import { MountedServer } from "./mounted-server.ts";
import { MountedServers, type SdkServerFor } from "./mounted-servers.ts";
import type { McpServerOptions } from "./options.ts";
import type { SdkServer } from "./sdk-server.ts";

/** A source that is a client of another's server, until it is disposed of, and the server with it. It has no chain (law 1). */
export interface McpServerSource extends Source, AsyncDisposable {
  /** Settles once the server has said what it is; rejects with why it cannot be asked. Nobody has to wait for it. */
  readonly ready: Promise<void>;
}

/**
 * Serves a server of the official SDK, v1 or v2, `McpServer` or `Server`, which must not be connected yet: its tools, resources,
 * templates, prompts, completions, logs and questions. Given a server, all viewers share it and whatever it keeps; given a
 * function, each principal gets its own. Calls fail with `CRASHED` where the server closed or said what is no MCP, with
 * `WORK_TIMEOUT` where it was too slow; what it answers with an error is a refusal in its own words.
 */
export function fromMcpServer(server: SdkServer | SdkServerFor, options: McpServerOptions = {}): McpServerSource {
  const source = typeof server === "function" ? new MountedServers(server, options) : new MountedServer(server, options, { scopes: [] });
  describeSource(source, "a mounted MCP server");
  return source;
}
