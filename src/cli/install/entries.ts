// Owns: how each MCP client writes a server into its settings. Does not own: where these are (clients.ts), or their file formats. Nothing
// of Node is imported: the console's page shows the same entries.
import type { Json, JsonObject } from "../../core/contract/index.ts";

/** A token that the client sends: its environment variable, and its value if that is to be written out. */
interface Token {
  readonly variable: string;
  readonly value?: string;
}

/** A server as a client knows it: one that it starts, or one at an address. */
export type Server =
  | { readonly how: "stdio"; readonly command: string; readonly args: readonly string[] }
  | { readonly how: "http"; readonly url: string; readonly token?: Token };

/** The entry of a server in a client's settings. */
export interface ClientEntry {
  readonly title: string;
  /** The property that holds all servers. */
  readonly container: string;
  /** The file of a project's settings, relative to its folder. Undefined: the client has none. */
  readonly projectFile?: string;
  readonly entry: (name: string, server: Server) => JsonObject;
  /** What is left to do once the file is written. */
  readonly afterwards: string;
}

const command = ({ command: program, args }: Extract<Server, { how: "stdio" }>): JsonObject => ({ command: program, args: [...args] });

/** `reference` is how the client's settings write a variable of its environment. */
const bearer = ({ token }: Extract<Server, { how: "http" }>, reference: (variable: string) => string): { readonly headers?: Json } =>
  token === undefined ? {} : { headers: { Authorization: `Bearer ${token.value ?? reference(token.variable)}` } };

const braces = (variable: string): string => `\${${variable}}`;
const envBraces = (variable: string): string => `\${env:${variable}}`;

/** Claude Desktop starts programs only. It expands no variables, so a token needs its value. */
const throughBridge = ({ url, token }: Extract<Server, { how: "http" }>): JsonObject => {
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

export const CLIENT_ENTRIES = {
  "claude-code": {
    title: "Claude Code",
    container: "mcpServers",
    projectFile: ".mcp.json",
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { type: "http", url: server.url, ...bearer(server, braces) },
    afterwards: "Start a new session of Claude Code; /mcp lists its servers.",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    container: "mcpServers",
    entry: (_, server) => (server.how === "stdio" ? command(server) : throughBridge(server)),
    afterwards: "Quit Claude Desktop, and open it again.",
  },
  cursor: {
    title: "Cursor",
    container: "mcpServers",
    projectFile: ".cursor/mcp.json",
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { url: server.url, ...bearer(server, envBraces) },
    afterwards: "Restart Cursor, and check its MCP settings.",
  },
  vscode: {
    title: "VS Code",
    container: "servers",
    projectFile: ".vscode/mcp.json",
    entry: (_, server) =>
      server.how === "stdio" ? { type: "stdio", ...command(server) } : { type: "http", url: server.url, ...bearer(server, envBraces) },
    afterwards: 'In VS Code, run "MCP: List Servers", and start it.',
  },
  codex: {
    title: "Codex",
    container: "mcp_servers",
    projectFile: ".codex/config.toml",
    entry: (_, server) =>
      server.how === "stdio"
        ? command(server)
        : server.token?.value === undefined
          ? { url: server.url, ...(server.token === undefined ? {} : { bearer_token_env_var: server.token.variable }) }
          : { url: server.url, http_headers: { Authorization: `Bearer ${server.token.value}` } },
    afterwards: "Start a new session of Codex; /mcp lists its servers.",
  },
  goose: {
    title: "Goose",
    container: "extensions",
    entry: (name, server) => {
      const common = { enabled: true, name, timeout: GOOSE_TIMEOUT_S };
      if (server.how === "stdio") return { ...common, type: "stdio", cmd: server.command, args: [...server.args], env_keys: [], envs: {} };
      const { token } = server;
      const variables = token === undefined || token.value !== undefined ? [] : [token.variable];
      return { ...common, type: "streamable_http", uri: server.url, headers: {}, ...bearer(server, braces), env_keys: variables, envs: {} };
    },
    afterwards: "Start a new session of Goose.",
  },
  gemini: {
    title: "Gemini CLI",
    container: "mcpServers",
    projectFile: ".gemini/settings.json",
    entry: (_, server) => (server.how === "stdio" ? command(server) : { httpUrl: server.url, ...bearer(server, braces) }),
    afterwards: "Start Gemini CLI again, in a folder that it trusts; /mcp lists its servers.",
  },
} satisfies Readonly<Record<string, ClientEntry>>;
