// Owns: PacketFlow's configuration file: its sections, defaults and checks. Does not own: reading single values (config-section.ts).
import { omitUndefined } from "../../core/contract/internal.ts";
import { ConfigIssues, ConfigSection, type MapRules } from "./config-section.ts";
import { DEFAULT_IDLE_MS, ID_BYTES, PERSISTENCES, type Persistence, STATE_TIMEOUT_MS } from "./packet.ts";
import type { HttpServer, StdioServer } from "./upstream-interface.ts";

/** The section `actors` of PacketFlow's configuration. Times in milliseconds. */
export interface ActorsConfig {
  /** Milliseconds without a message until an actor ends, for capabilities that define no timeout. Default 1,800,000. */
  readonly default_timeout: number;
  /** Actors of one user at a time. Default 10. */
  readonly max_actors_per_user: number;
  /** For capabilities that define no persistence. Default `memory`. */
  readonly persistence_strategy: Persistence;
  /**
   * Must be 300,000 milliseconds, the specification's default; other values are refused. Each actor ends at its own time, so there is no
   * cleanup cycle with an interval.
   */
  readonly cleanup_interval: number;
}

/** The section `mcp` of PacketFlow's configuration. */
export interface McpConfig {
  /** The name that MCP clients see. Default `PacketFlow Capabilities`. */
  readonly server_name: string;
  /** Default `1.0.0`. */
  readonly server_version: string;
  /** False: only tools that capabilities define themselves. Default true. */
  readonly auto_generate_tools: boolean;
  /** The capabilities that MCP lists and calls: all, or those of these ids. Default `all`. */
  readonly expose_capabilities: "all" | readonly string[];
  /** Limit on a tool call in milliseconds. Default 30,000. */
  readonly tool_timeout: number;
  /** Other MCP servers, by the name that capabilities call them by. Default none. */
  readonly servers: Readonly<Record<string, StdioServer | HttpServer>>;
}

/** The whole configuration, with defaults filled in. */
export interface Config {
  readonly actors: ActorsConfig;
  readonly mcp: McpConfig;
}

/** The configuration as written in code or in a file: absent keys have their defaults. */
export interface ConfigInput {
  readonly actors?: Partial<ActorsConfig>;
  readonly mcp?: Partial<McpConfig>;
}

const MILLISECONDS = "milliseconds, a whole number";
const MAX_EXPOSED = 10_000;

/**
 * Reads a `ConfigInput` from any source. Throws one `TroupeError` (`BAD_DEFINITION`) that lists every wrong or unknown key by its path
 * (`data.issues`: each `{path, message}`), with the allowed values and the closest match.
 */
export function readConfig(value: unknown): Config {
  const issues = new ConfigIssues();
  const root = ConfigSection.of(issues, "", value);
  root?.allowOnly("actors", "mcp");
  // A wrong section is read as empty, so that the others are checked too.
  const actors = readActors(root?.section("actors") ?? ConfigSection.empty(issues));
  const mcp = readMcp(root?.section("mcp") ?? ConfigSection.empty(issues));
  issues.throwIfAny();
  return { actors, mcp };
}

function readActors(section: ConfigSection): ActorsConfig {
  section.allowOnly("default_timeout", "max_actors_per_user", "persistence_strategy", "cleanup_interval");
  return {
    default_timeout: section.count("default_timeout", DEFAULT_IDLE_MS, STATE_TIMEOUT_MS, MILLISECONDS),
    max_actors_per_user: section.count("max_actors_per_user", 10, 1_000_000_000),
    persistence_strategy: section.choice("persistence_strategy", "memory", PERSISTENCES),
    cleanup_interval: readCleanupInterval(section),
  };
}

const CLEANUP_INTERVAL = 5 * 60_000;

function readCleanupInterval(section: ConfigSection): number {
  if (section.has("cleanup_interval") && !section.is("cleanup_interval", CLEANUP_INTERVAL))
    section.addIssue(
      "cleanup_interval",
      `Leave it out (or ${CLEANUP_INTERVAL}): there is no cleanup cycle, each actor ends when its own time comes.`,
    );
  return CLEANUP_INTERVAL;
}

function readMcp(section: ConfigSection): McpConfig {
  section.allowOnly("server_name", "server_version", "auto_generate_tools", "expose_capabilities", "tool_timeout", "servers");
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
    section.addIssue("expose_capabilities", 'Must be "all", or a list of ids of capabilities.');
    return [];
  }
  return section.texts("expose_capabilities", MAX_EXPOSED, ID_BYTES) ?? [];
}

const MAX_SERVERS = 100;
const MAX_ARGUMENTS = 1_000;
const MAX_TEXT_CHARS = 32_768;
const MAX_URL_CHARS = 8_192;

const SERVER_NAME = /^[A-Za-z0-9@][A-Za-z0-9@/._-]{0,63}$/;
const ENV_RULES: MapRules = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  sentence: "Is no name of a variable: letters, digits and _, no digit first.",
  maxChars: MAX_TEXT_CHARS,
  multiline: true,
};
const HEADER_RULES: MapRules = {
  pattern: /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,255}$/,
  sentence: "Is no name of a header.",
  maxChars: MAX_URL_CHARS,
};

/** `mcp.servers`: by name, each a process or a URL. */
function readServers(section: ConfigSection): Readonly<Record<string, StdioServer | HttpServer>> {
  if (section.keys.length > MAX_SERVERS) section.addIssue("…", `There may be ${MAX_SERVERS} tool servers.`);
  return Object.fromEntries(
    section.keys.slice(0, MAX_SERVERS).flatMap((name) => {
      if (!SERVER_NAME.test(name)) section.addIssue(name, "Is no name of a tool server: letters, digits, @, /, ., _ and -, 64 in all.");
      const server = section.section(name);
      const read = server && readServer(section, name, server);
      return read === undefined ? [] : [[name, read] as const];
    }),
  );
}

function readServer(all: ConfigSection, name: string, server: ConfigSection): StdioServer | HttpServer | undefined {
  const [isProcess, isAddress] = [server.has("command"), server.has("url")];
  if (isProcess && isAddress) return all.addIssue(name, "Has command and url: keep the one by which the server is reached.");
  if (isProcess) return readStdioServer(server);
  if (isAddress) return readHttpServer(server);
  server.allowOnly("command", "args", "env", "cwd", "url", "headers");
  return all.addIssue(
    name,
    "Must have command, the executable that speaks MCP on its standard input and output, or url, the address of one.",
  );
}

function readStdioServer(server: ConfigSection): StdioServer | undefined {
  server.allowOnly("command", "args", "env", "cwd");
  const command = server.optionalText("command", MAX_TEXT_CHARS);
  const args = server.texts("args", MAX_ARGUMENTS, MAX_TEXT_CHARS);
  const env = server.textMap("env", ENV_RULES);
  const cwd = server.optionalText("cwd", MAX_TEXT_CHARS);
  if (command === undefined) return undefined;
  return { command, ...(args && { args }), ...(env && { env }), ...omitUndefined({ cwd }) };
}

function readHttpServer(server: ConfigSection): HttpServer | undefined {
  server.allowOnly("url", "headers");
  const url = server.optionalText("url", MAX_URL_CHARS);
  const headers = server.textMap("headers", HEADER_RULES);
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "")
    return server.addIssue(
      "url",
      "Must be an address that begins with http:// or https://, without a name and password in it: send those as headers.",
    );
  return { url, ...(headers && { headers }) };
}
