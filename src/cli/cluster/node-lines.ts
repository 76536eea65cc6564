import { isJsonObject, systemClock } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { serverLog, type ServerLogLevel } from "../log.ts";
import { visible } from "../output.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Advice that `cluster dev` follows itself, once all nodes are ready. */
const FOLLOWED = "not-registered";

/** What a node writes, on this process's standard error, with its name before it. */
export const nodeLines = (name: string, least: ServerLogLevel, json: boolean): ((line: string) => void) => {
  const log = serverLog(least, json, () => systemClock.now(), name);
  return (line) => {
    const value = tryParseJson(line);
    const said = isJsonObject(value) ? value : undefined;
    const level = LEVELS.find((one) => one === said?.["level"]);
    const event = said?.["event"];
    if (event === FOLLOWED) return;
    if (said !== undefined && level !== undefined && typeof event === "string") {
      const { at: _at, level: _level, event: _event, ...fields } = said;
      log(level, event, fields);
    } else if (json) log("info", "output", { text: line });
    else process.stderr.write(`${name} ${visible(line)}\n`);
  };
};
