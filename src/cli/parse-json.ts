import type { Json } from "../core/contract/index.ts";
import { usage } from "./exit-code.ts";

/** An argument or a file. Throws a `CommandError`. */
export const parseJson = (text: string, what: string, example: string): Json => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${what} must be JSON, such as '${example}': ${error instanceof Error ? error.message : String(error)}.`);
  }
};
