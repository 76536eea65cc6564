// Owns: `troupe config`. Does not own: where settings come from (settings.ts).
import type { Command } from "commander";
import { oneLine, printLine, table } from "../output.ts";
import { addConfigurableServeOptions, type ServeOptions } from "../serve-options.ts";
import type { Settings } from "../settings.ts";

export const register = (program: Command): void => {
  addConfigurableServeOptions(
    program.command("config").description("Print the settings that serve and dev would have here, and where each is from."),
  ).action(async (given: string[], { json = false }: ServeOptions, command: Command) => {
    const { applySettings } = await import("../settings.ts");
    printSettings(await applySettings(command, given), json);
  });
};

/** Each effective setting with its source; as JSON, one line for each. */
const printSettings = ({ file, list }: Settings, json: boolean): void => {
  if (json) {
    for (const { name, value, source } of list)
      printLine(JSON.stringify({ name, value, source, ...(source === "file" && file !== undefined ? { file } : {}) }));
    return;
  }
  printLine(file === undefined ? "There is no troupe.config.ts here or above." : `With ${oneLine(file)}:`);
  const rows = list.map(({ name, value, source }) => [name, oneLine(typeof value === "string" ? value : JSON.stringify(value)), source]);
  printLine(table(["setting", "value", "source"], rows));
};
