import { oneLine, printLine, table } from "./output.ts";
import type { Settings } from "./settings.ts";

/** Each effective setting with its source; as JSON, one line for each. */
export const printSettings = ({ file, list }: Settings, json: boolean): void => {
  if (json) {
    for (const { name, value, source } of list)
      printLine(JSON.stringify({ name, value, source, ...(source === "file" && file !== undefined ? { file } : {}) }));
    return;
  }
  printLine(file === undefined ? "There is no troupe.config.ts here or above." : `With ${oneLine(file)}:`);
  const rows = list.map(({ name, value, source }) => [name, oneLine(typeof value === "string" ? value : JSON.stringify(value)), source]);
  printLine(table(["setting", "value", "source"], rows));
};
