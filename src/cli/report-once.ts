import { omitUndefined } from "../core/contract/internal.ts";
import type { ServerLog } from "./log.ts";

const FAULTS = new Set(["fault", "surface-fault", "service-fault"]);
/** Messages may differ each time, as with a time or an id in them; then the oldest reports are forgotten. */
const MAX_REPORTED = 1_000;

/**
 * A log for development: each fault of an author's code is reported once between two reloads, however often it happens or is retried. The
 * report of an impure turn leaves out where the error was thrown, which is in Troupe's own check and not in the author's code.
 */
export const reportOnce = (log: ServerLog): ServerLog => {
  const reported = new Set<string>();
  const isNew = (fault: string): boolean => {
    if (reported.has(fault)) return false;
    for (const oldest of reported) {
      if (reported.size < MAX_REPORTED) break;
      reported.delete(oldest);
    }
    reported.add(fault);
    return true;
  };
  return (level, event, fields = {}) => {
    if (event === "reloaded") reported.clear();
    const { actor, action, error, code, place, why } = fields;
    if (code === "IMPURE" && typeof why === "string") {
      // "kind: the turn of tools/act is not pure: …"; the values that differ are others each time.
      const [turn = why] = why.split(" is not pure");
      if (isNew(turn)) log(level, "impure", omitUndefined({ actor, why }));
      return;
    }
    const kind = typeof actor === "string" ? actor.split("/")[0] : undefined;
    if (!FAULTS.has(event) || isNew(JSON.stringify([event, kind, action, error, code, place, why]))) log(level, event, fields);
  };
};
