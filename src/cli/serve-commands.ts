import type { Command } from "commander";
import { addServeOptions, type ServeOptions } from "./options.ts";

export const registerServeCommands = (program: Command, version: string): void => {
  addServeOptions(program.command("serve").description("Serve actors to MCP clients.")).action(
    async (modules: string[], options: ServeOptions) => (await import("./serve.ts")).serve(modules, options, version),
  );

  addServeOptions(program.command("dev").description("Serve, load anew when files change, and check that turns are pure.")).action(
    async (modules: string[], options: ServeOptions) => (await import("./dev.ts")).dev(modules, options, version),
  );
};
