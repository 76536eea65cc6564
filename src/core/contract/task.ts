import { TroupeError } from "./errors.ts";
import { oneOf } from "./option-checks.ts";

/** A `TaskSupport`. */
export const TASK = oneOf("optional", "required");

/** Throws `BAD_DEFINITION`. */
export function checkTask(task: unknown, where: string): void {
  if (task !== undefined && !TASK[1](task)) throw new TroupeError("BAD_DEFINITION", `${where}: \`task\` is ${TASK[0]}, or absent.`);
}
