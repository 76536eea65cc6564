import type { WitFunction } from "../wit.ts";
import { type ImportName, IMPORTS } from "../world/interfaces.ts";

const FALLIBLE = new Set(
  Object.entries(IMPORTS).flatMap(([name, functions]) =>
    Object.entries<WitFunction>(functions)
      .filter(([, { result }]) => typeof result === "object" && "result" in result && result.result.err !== undefined)
      .map(([one]) => `${name}.${one}`),
  ),
);

/** The guest can be told that it did not work. */
export function mayFail(name: ImportName): boolean {
  return FALLIBLE.has(name);
}
