// Owns: the MCP clients that `troupe install` knows: where each keeps its servers, and what an entry looks like there. Does not own: reading or
// writing these files (install.ts), and how a format is changed (config-text.ts).
import { posix, win32 } from "node:path";
import type { Json, JsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { usage } from "../exit-code.ts";
import type { ConfigFormat } from "./config-text.ts";
import { jsonFile } from "./json-file.ts";
import { tomlFile } from "./toml-file.ts";
import { yamlFile } from "./yaml-file.ts";

export type Scope = "user" | "project";

/** The machine and user that settings are of. A value, so that tests can be on each system. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A token that the client sends: the environment variable it is in, and its value where it shall be written out. */
interface Token {
  readonly variable: string;
  readonly value?: string;
}

/** A server as a client knows it: one that it starts, or one at an address. */
export type Server =
  | { readonly how: "stdio"; readonly command: string; readonly args: readonly string[] }
  | { readonly how: "http"; readonly url: string; readonly token?: Token };

export interface Client {
  readonly id: string;
  readonly title: string;
  readonly format: ConfigFormat;
  /** The property that holds all servers. */
  readonly container: string;
  /** The file of the user's settings. */
  readonly userFile: (machine: Machine) => string;
  /** The file of a project's settings, relative to its folder. Undefined: the client has none. */
  readonly projectFile?: string;
  /** How its settings write the project's folder. Undefined: it starts servers there, so relative paths do. */
  readonly projectFolder?: string;
  /** A program or folder that shows that the client is installed; folders end in a slash and are relative to the home. */
  readonly signs: readonly string[];
  readonly entry: (name: string, server: Server) => JsonObject;
  /** What is left to do once the file is written. */
  readonly afterwards: string;
}

const joined = ({ platform }: Machine, ...parts: readonly string[]): string => (platform === "win32" ? win32 : posix).join(...parts);

/** A variable that is empty counts as not set, as for the clients. */
const fromEnv = (machine: Machine, variable: string, ...otherwise: readonly string[]): string =>
  machine.env[variable] || joined(machine, machine.home, ...otherwise);

/** The folder that applications keep their settings in. */
const appData = (machine: Machine, ...parts: readonly string[]): string =>
  joined(
    machine,
    machine.platform === "win32"
      ? fromEnv(machine, "APPDATA", "AppData", "Roaming")
      : machine.platform === "darwin"
        ? joined(machine, machine.home, "Library", "Application Support")
        : fromEnv(machine, "XDG_CONFIG_HOME", ".config"),
    ...parts,
  );

const command = ({ command: program, args }: Extract<Server, { how: "stdio" }>): JsonObject => ({ command: program, args: [...args] });

/** `reference` is how the client's settings write a variable of its environment. */
const bearer = ({ token }: Extract<Server, { how: "http" }>, reference: (variable: string) => string): { readonly headers?: Json } =>
  token === undefined ? {} : { headers: { Authorization: `Bearer ${token.value ?? reference(token.variable)}` } };

const braces = (variable: string): string => `\${${variable}}`;
const envBraces = (variable: string): string => `\${env:${variable}}`;

/** Claude Desktop starts programs only, and expands no variables. */
const throughBridge = ({ url, token }: Extract<Server, { how: "http" }>): JsonObject => {
  if (token !== undefined && token.value === undefined)
    throw usage(
      `Claude Desktop cannot read a token from the environment: give --write-token, which writes the value of ${token.variable} into its file, or let it start the server (--stdio).`,
    );
  const plainHttp = url.startsWith("http:") && !/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/.test(url);
  return {
    command: "npx",
    // The value is in `env`, since some systems break arguments at blanks.
    args: [
      "-y",
      "mcp-remote",
      url,
      ...(plainHttp ? ["--allow-http"] : []),
      ...(token ? ["--header", `Authorization:\${AUTH_HEADER}`] : []),
    ],
    ...(token?.value === undefined ? {} : { env: { AUTH_HEADER: `Bearer ${token.value}` } }),
  };
};

const GOOSE_TIMEOUT_S = 300;

/** In the order in which they are listed. */
export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    title: "Claude Code",
    format: jsonFile,
    container: "mcpServers",
    userFile: (machine) => joined(machine, fromEnv(machine, "CLAUDE_CONFIG_DIR"), ".claude.json"),
    projectFile: ".mcp.json",
    signs: ["claude", ".claude/"],
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { type: "http", url: server.url, ...bearer(server, braces) },
    afterwards: "Start a new session of Claude Code; /mcp lists its servers.",
  },
  {
    id: "claude-desktop",
    title: "Claude Desktop",
    format: jsonFile,
    container: "mcpServers",
    userFile: (machine) => appData(machine, "Claude", "claude_desktop_config.json"),
    signs: [],
    entry: (_, server) => (server.how === "stdio" ? command(server) : throughBridge(server)),
    afterwards: "Quit Claude Desktop, and open it again.",
  },
  {
    id: "cursor",
    title: "Cursor",
    format: jsonFile,
    container: "mcpServers",
    userFile: (machine) => joined(machine, machine.home, ".cursor", "mcp.json"),
    projectFile: ".cursor/mcp.json",
    projectFolder: "${workspaceFolder}",
    signs: ["cursor", ".cursor/"],
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { url: server.url, ...bearer(server, envBraces) },
    afterwards: "Restart Cursor, and check its MCP settings.",
  },
  {
    id: "vscode",
    title: "VS Code",
    format: jsonFile,
    container: "servers",
    userFile: (machine) => appData(machine, "Code", "User", "mcp.json"),
    projectFile: ".vscode/mcp.json",
    projectFolder: "${workspaceFolder}",
    signs: ["code", ".vscode/"],
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { type: "http", url: server.url, ...bearer(server, envBraces) },
    afterwards: 'In VS Code, run "MCP: List Servers", and start it.',
  },
  {
    id: "codex",
    title: "Codex",
    format: tomlFile,
    container: "mcp_servers",
    userFile: (machine) => joined(machine, fromEnv(machine, "CODEX_HOME", ".codex"), "config.toml"),
    projectFile: ".codex/config.toml",
    signs: ["codex", ".codex/"],
    entry: (_, server) =>
      server.how === "stdio"
        ? command(server)
        : server.token?.value === undefined
          ? { url: server.url, ...omitUndefined({ bearer_token_env_var: server.token?.variable }) }
          : { url: server.url, http_headers: { Authorization: `Bearer ${server.token.value}` } },
    afterwards: "Start a new session of Codex; /mcp lists its servers.",
  },
  {
    id: "goose",
    title: "Goose",
    format: yamlFile,
    container: "extensions",
    userFile: (machine) =>
      machine.platform === "win32"
        ? appData(machine, "Block", "goose", "config", "config.yaml")
        : joined(machine, fromEnv(machine, "XDG_CONFIG_HOME", ".config"), "goose", "config.yaml"),
    signs: ["goose"],
    entry: (name, server) => {
      const common = { enabled: true, name, timeout: GOOSE_TIMEOUT_S };
      if (server.how === "stdio") return { ...common, type: "stdio", cmd: server.command, args: [...server.args], env_keys: [], envs: {} };
      const { token } = server;
      const variables = token === undefined || token.value !== undefined ? [] : [token.variable];
      return { ...common, type: "streamable_http", uri: server.url, headers: {}, ...bearer(server, braces), env_keys: variables, envs: {} };
    },
    afterwards: "Start a new session of Goose.",
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    format: jsonFile,
    container: "mcpServers",
    userFile: (machine) => joined(machine, machine.home, ".gemini", "settings.json"),
    projectFile: ".gemini/settings.json",
    signs: ["gemini", ".gemini/"],
    entry: (_, server) => (server.how === "stdio" ? command(server) : { httpUrl: server.url, ...bearer(server, braces) }),
    afterwards: "Start Gemini CLI again, in a folder that it trusts; /mcp lists its servers.",
  },
];
