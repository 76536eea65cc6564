import type { Command } from "commander";

/** Commands that are defined together. */
export interface CommandGroup {
  readonly names: readonly string[];
  register(program: Command, version: string): Promise<void>;
}

/** In the order in which help has them. Each is loaded when one of its commands is given. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    names: ["serve", "dev", "config"],
    register: async (program, version) => (await import("./serve-commands.ts")).registerServeCommands(program, version),
  },
  {
    names: ["install"],
    register: async (program) => (await import("./install-commands.ts")).registerInstallCommands(program),
  },
  {
    names: ["new"],
    register: async (program, version) => (await import("./new-command.ts")).registerNewCommand(program, version),
  },
  {
    names: ["bundle", "publish"],
    register: async (program) => (await import("./share-commands.ts")).registerShareCommands(program),
  },
  {
    names: ["console"],
    register: async (program, version) => (await import("./console-command.ts")).registerConsoleCommand(program, version),
  },
  {
    names: ["actors"],
    register: async (program) => (await import("./actors-command.ts")).registerActorsCommand(program),
  },
  {
    names: ["find", "index"],
    register: async (program) => (await import("./index-commands.ts")).registerIndexCommands(program),
  },
  {
    names: ["sql"],
    register: async (program) => (await import("./sql-command.ts")).registerSqlCommand(program),
  },
  {
    names: ["state", "call", "stop", "restart", "letters"],
    register: async (program) => (await import("./actor-commands.ts")).registerActorCommands(program),
  },
  {
    names: ["chain", "verify", "replay", "diff", "fork", "revert", "checkpoint", "causes"],
    register: async (program) => (await import("./chain-commands.ts")).registerChainCommands(program),
  },
  {
    names: ["edit"],
    register: async (program) => (await import("./edit-command.ts")).registerEditCommand(program),
  },
  {
    names: ["prune"],
    register: async (program) => (await import("./prune-command.ts")).registerPruneCommand(program),
  },
  {
    names: ["export", "import"],
    register: async (program) => (await import("./export-commands.ts")).registerExportCommands(program),
  },
  {
    names: ["cluster"],
    register: async (program) => (await import("./cluster-commands.ts")).registerClusterCommands(program),
  },
  {
    names: ["packet", "capabilities"],
    register: async (program) => (await import("./packet-commands.ts")).registerPacketCommands(program),
  },
  {
    names: ["theater", "theater-mcp"],
    register: async (program, version) => (await import("./theater-commands.ts")).registerTheaterCommands(program, version),
  },
  {
    names: ["docs"],
    register: async (program, version) => (await import("./docs-commands.ts")).registerDocsCommands(program, version),
  },
  {
    names: ["guests"],
    register: async (program) => (await import("./guest-commands.ts")).registerGuestCommands(program),
  },
];

/** Those that a command line needs: all, where its first word is no command, since help and hints name them all. */
export const groupsFor = ([first]: readonly string[]): readonly CommandGroup[] => {
  const named = COMMAND_GROUPS.filter(({ names }) => first !== undefined && names.includes(first));
  return named.length > 0 ? named : COMMAND_GROUPS;
};
