import { type Command, Option } from "commander";
import { addServeOptions, type ServeOptions } from "./serve-options.ts";

const configurable = (command: Command): Command =>
  addServeOptions(command, "[module...]")
    .addOption(new Option("--config <file>", "the project's settings (default: troupe.config.ts here or in the nearest folder above)"))
    .addOption(new Option("--no-config", "no settings but flags and the environment"));

export const registerServeCommands = (program: Command, version: string): void => {
  configurable(program.command("serve").description("Serve actors to MCP clients.")).action(
    async (given: string[], _: ServeOptions, command: Command) => {
      const { applySettings, modulesToServe } = await import("./settings.ts");
      const modules = modulesToServe(await applySettings(command, given));
      await (await import("./serve.ts")).serve(modules, command.opts<ServeOptions>(), version);
    },
  );

  configurable(program.command("dev").description("Serve, load anew when files change, and check that turns are pure.")).action(
    async (given: string[], _: ServeOptions, command: Command) => {
      const { applySettings, modulesToServe } = await import("./settings.ts");
      const modules = modulesToServe(await applySettings(command, given));
      await (await import("./dev.ts")).dev(modules, command.opts<ServeOptions>(), version);
    },
  );

  configurable(
    program.command("config").description("Print the settings that serve and dev would have here, and where each is from."),
  ).action(async (given: string[], { json = false }: ServeOptions, command: Command) => {
    const { applySettings } = await import("./settings.ts");
    (await import("./print-settings.ts")).printSettings(await applySettings(command, given), json);
  });
};
