import { ConfigIssues, ConfigSection } from "./config-section.ts";
import { readServers } from "./config-servers.ts";
import type { HttpServer, StdioServer } from "./foreign-options.ts";
import { PERSISTENCES } from "./packet-fields.ts";
import { ID_BYTES, STATE_TIMEOUT_MS } from "./packet-limits.ts";
import type { Persistence } from "./packet.ts";

/** The section `actors` of PacketFlow's configuration. Times in milliseconds. */
export interface ActorsConfig {
  /** Milliseconds without a message until an actor ends whose capability does not say when. Default 1,800,000. */
  readonly default_timeout: number;
  /** Of one user at a time. Default 10. */
  readonly max_actors_per_user: number;
  /** Of capabilities that do not say where their actors are kept. Default `memory`. */
  readonly persistence_strategy: Persistence;
  /**
   * Always 300,000 milliseconds, the specification's default, which may be written; any other value is refused. Each actor ends when
   * its own time comes, and nothing goes through all of them from time to time, so there is no interval to set.
   */
  readonly cleanup_interval: number;
}

/** The section `mcp` of PacketFlow's configuration. */
export interface McpConfig {
  /** As MCP clients see it. Default `PacketFlow Capabilities`. */
  readonly server_name: string;
  /** Default `1.0.0`. */
  readonly server_version: string;
  /** False: the only tools are those that capabilities define themselves. Default true. */
  readonly auto_generate_tools: boolean;
  /** Capabilities that MCP shows and takes calls for: all, or those of these ids. Default `all`. */
  readonly expose_capabilities: "all" | readonly string[];
  /** Milliseconds that a tool call may take. Default 30,000. */
  readonly tool_timeout: number;
  /** Other MCP servers, by the name that capabilities call them by. Default none. */
  readonly servers: Readonly<Record<string, StdioServer | HttpServer>>;
}

/** The whole of it, with defaults filled in. */
export interface Config {
  readonly actors: ActorsConfig;
  readonly mcp: McpConfig;
}

/** As it is written in code or in a file: what is absent has its default. */
export interface ConfigInput {
  readonly actors?: Partial<ActorsConfig>;
  readonly mcp?: Partial<McpConfig>;
}

const MILLISECONDS = "milliseconds, a whole number";
const MOST_EXPOSED = 10_000;

/**
 * Reads a `ConfigInput` from wherever it came. Throws one `TroupeError` (`BAD_DEFINITION`) that names every wrong or unknown
 * key by its path (`data.issues`: each `{path, message}`), what may be there, and which key was probably meant.
 */
export function readConfig(value: unknown): Config {
  const issues = new ConfigIssues();
  const root = ConfigSection.of(issues, "", value);
  root?.only("actors", "mcp");
  // What is wrong is read as absent, so that all else is looked at too.
  const actors = readActors(root?.section("actors") ?? ConfigSection.empty(issues));
  const mcp = readMcp(root?.section("mcp") ?? ConfigSection.empty(issues));
  issues.throwIfAny();
  return { actors, mcp };
}

function readActors(section: ConfigSection): ActorsConfig {
  section.only("default_timeout", "max_actors_per_user", "persistence_strategy", "cleanup_interval");
  return {
    default_timeout: section.count("default_timeout", 30 * 60_000, STATE_TIMEOUT_MS, MILLISECONDS),
    max_actors_per_user: section.count("max_actors_per_user", 10, 1_000_000_000),
    persistence_strategy: section.choice("persistence_strategy", "memory", PERSISTENCES),
    cleanup_interval: readCleanupInterval(section),
  };
}

const CLEANUP_INTERVAL = 5 * 60_000;

function readCleanupInterval(section: ConfigSection): number {
  if (section.has("cleanup_interval") && !section.is("cleanup_interval", CLEANUP_INTERVAL))
    section.wrong(
      "cleanup_interval",
      `Leave it out (or ${CLEANUP_INTERVAL}): there is no cleanup cycle, each actor ends when its own time comes.`,
    );
  return CLEANUP_INTERVAL;
}

function readMcp(section: ConfigSection): McpConfig {
  section.only("server_name", "server_version", "auto_generate_tools", "expose_capabilities", "tool_timeout", "servers");
  const servers = section.section("servers");
  return {
    server_name: section.text("server_name", "PacketFlow Capabilities", ID_BYTES),
    server_version: section.text("server_version", "1.0.0", ID_BYTES),
    auto_generate_tools: section.flag("auto_generate_tools", true),
    expose_capabilities: readExposed(section),
    tool_timeout: section.count("tool_timeout", 30_000, 86_400_000, MILLISECONDS),
    servers: servers === undefined ? {} : readServers(servers),
  };
}

function readExposed(section: ConfigSection): McpConfig["expose_capabilities"] {
  if (!section.has("expose_capabilities") || section.is("expose_capabilities", "all")) return "all";
  if (!section.isList("expose_capabilities")) {
    section.wrong("expose_capabilities", 'Must be "all", or a list of ids of capabilities.');
    return [];
  }
  return section.texts("expose_capabilities", MOST_EXPOSED, ID_BYTES) ?? [];
}
