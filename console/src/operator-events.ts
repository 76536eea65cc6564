// Owns: which events operators write, and what of their arguments is worth reading. Does not own: how they are written (bridges/operate).
import type { Json } from "../../src/core/contract/index.ts";
import type { EventRow } from "../../src/bridges/console/shapes.ts";
import { isObject } from "./json.ts";

const TYPES = new Set(["checkpoint", "edit", "fork", "revert", "stop"]);

/** An operator did it, or nothing says who. */
export const byOperator = ({ type, cause, from }: Pick<EventRow, "type" | "cause" | "from">): boolean =>
  TYPES.has(type) && from === undefined && (cause === undefined || type === "fork");

/** Why it was done. */
export const reasonOf = ({ args }: Pick<EventRow, "args">): string | undefined =>
  isObject(args) && typeof args["reason"] === "string" ? args["reason"] : undefined;

/** Without the reason, which is shown by itself, and without hashes. */
export function shortArguments(row: Pick<EventRow, "type" | "cause" | "from" | "args">): Json | undefined {
  if (!byOperator(row) || !isObject(row.args)) return row.args;
  const { head: _, life: __, reason: ___, ...rest } = row.args;
  return rest;
}
