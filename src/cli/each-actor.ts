import type { ActorId } from "../core/contract/index.ts";
import { describeFailure, EXIT } from "./exit-code.ts";
import { namedActor } from "./named-actor.ts";
import { failureLine } from "./output.ts";

/** One after the other; one that fails keeps none from its own. Each failure is told, and the first is the command's, told last. */
export const eachActor = async (
  named: readonly string[],
  json: boolean | undefined,
  act: (id: ActorId) => Promise<void>,
): Promise<void> => {
  const failures: unknown[] = [];
  for (const text of named) {
    try {
      await act(await namedActor(text));
    } catch (error) {
      const { exit, code, message } = describeFailure(error);
      // The command or the server is at fault: with the next it would be the same.
      if (code === "USAGE" || exit === EXIT.unavailable) throw error;
      if (failures.push(error) > 1) process.stderr.write(`${failureLine(json, code, message)}\n`);
    }
  }
  if (failures.length > 0) throw failures[0];
};
