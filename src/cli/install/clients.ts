// Owns: the MCP clients that `troupe install` knows: where each keeps its servers. Does not own: what an entry looks like there
// (entries.ts), reading or writing these files (install.ts), and how a format is changed (config-formats.ts).
import { posix, win32 } from "node:path";
import { usage } from "../command-error.ts";
import { type ConfigFormat, jsonFile, tomlFile, yamlFile } from "./config-formats.ts";
import { CLIENT_ENTRIES, type ClientEntry } from "./entries.ts";

export type Scope = "user" | "project";

/** The machine and user of the settings. A value, so that tests can cover each system. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Client extends ClientEntry {
  readonly id: string;
  readonly format: ConfigFormat;
  /** The file of the user's settings. */
  readonly userFile: (machine: Machine) => string;
  /** How its settings refer to the project's folder. Undefined if it starts servers there, so that relative paths work. */
  readonly projectFolder?: string;
  /** A program or folder that shows that the client is installed; folders end in a slash and are relative to the home. */
  readonly signs: readonly string[];
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

/** In the order in which they are listed. */
export const CLIENTS: readonly Client[] = [
  {
    id: "claude-code",
    ...CLIENT_ENTRIES["claude-code"],
    format: jsonFile,
    userFile: (machine) => joined(machine, fromEnv(machine, "CLAUDE_CONFIG_DIR"), ".claude.json"),
    signs: ["claude", ".claude/"],
  },
  {
    id: "claude-desktop",
    ...CLIENT_ENTRIES["claude-desktop"],
    format: jsonFile,
    userFile: (machine) => appData(machine, "Claude", "claude_desktop_config.json"),
    signs: [],
    entry(name, server) {
      if (server.how === "http" && server.token !== undefined && server.token.value === undefined)
        throw usage(
          `Claude Desktop cannot read a token from the environment: give --write-token, which writes the value of ${server.token.variable} into its file, or let it start the server (--stdio).`,
        );
      return CLIENT_ENTRIES["claude-desktop"].entry(name, server);
    },
  },
  {
    id: "cursor",
    ...CLIENT_ENTRIES.cursor,
    format: jsonFile,
    userFile: (machine) => joined(machine, machine.home, ".cursor", "mcp.json"),
    projectFolder: "${workspaceFolder}",
    signs: ["cursor", ".cursor/"],
  },
  {
    id: "vscode",
    ...CLIENT_ENTRIES.vscode,
    format: jsonFile,
    userFile: (machine) => appData(machine, "Code", "User", "mcp.json"),
    projectFolder: "${workspaceFolder}",
    signs: ["code", ".vscode/"],
  },
  {
    id: "codex",
    ...CLIENT_ENTRIES.codex,
    format: tomlFile,
    userFile: (machine) => joined(machine, fromEnv(machine, "CODEX_HOME", ".codex"), "config.toml"),
    signs: ["codex", ".codex/"],
  },
  {
    id: "goose",
    ...CLIENT_ENTRIES.goose,
    format: yamlFile,
    userFile: (machine) =>
      machine.platform === "win32"
        ? appData(machine, "Block", "goose", "config", "config.yaml")
        : joined(machine, fromEnv(machine, "XDG_CONFIG_HOME", ".config"), "goose", "config.yaml"),
    signs: ["goose"],
  },
  {
    id: "gemini",
    ...CLIENT_ENTRIES.gemini,
    format: jsonFile,
    userFile: (machine) => joined(machine, machine.home, ".gemini", "settings.json"),
    signs: ["gemini", ".gemini/"],
  },
];
