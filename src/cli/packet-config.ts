import { statSync } from "node:fs";
import { extname } from "node:path";
import { parse } from "yaml";
import { TroupeError } from "../core/contract/index.ts";
import { type Config, readConfig } from "../bridges/packet/config.ts";
import { CommandError, EXIT, usage } from "./exit-code.ts";
import { readTextFile } from "./text-file.ts";

const MOST_BYTES = 1_048_576;

/** The configuration of capabilities in a file: JSON or YAML, by its extension. Throws a `CommandError` that names the file. */
export function readConfigFile(path: string): Config {
  const parsed = parserFor(path);
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES)
    throw usage(`--packet-config: ${path} has more than ${MOST_BYTES} bytes: this is no configuration.`);
  const text = readTextFile(path, "--packet-config");
  let value: unknown;
  try {
    value = parsed(text);
  } catch (error) {
    // What a parser shows of the text takes lines of its own.
    const [why = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw usage(`--packet-config: ${path} cannot be read: ${why.replace(/[.:]$/, "")}.`);
  }
  try {
    return readConfig(value);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    throw new CommandError(EXIT.usage, error.code, `${path}: ${error.message}`);
  }
}

function parserFor(path: string): (text: string) => unknown {
  const extension = extname(path).toLowerCase();
  if (extension === ".json") return (text): unknown => JSON.parse(text);
  if (extension === ".yaml" || extension === ".yml") return (text): unknown => parse(text);
  throw usage(`--packet-config takes a file that ends in .json, .yaml or .yml, not ${path}.`);
}
