import { omitUndefined } from "../core/contract/internal.ts";
import type { ServerLog } from "./log.ts";

/**
 * A log for development: each impure turn is reported once between two reloads, however often it runs or is retried. The report
 * leaves out where the error was thrown, which is in Troupe's own check and not in the author's code.
 */
export const reportImpureOnce = (log: ServerLog): ServerLog => {
  const reported = new Set<string>();
  return (level, event, fields = {}) => {
    if (event === "reloaded") reported.clear();
    const { code, why } = fields;
    if (code !== "IMPURE" || typeof why !== "string") {
      log(level, event, fields);
      return;
    }
    // "kind: the turn of tools/act is not pure: …"; the values that differ are others each time.
    const [turn = why] = why.split(" is not pure");
    if (reported.has(turn)) return;
    reported.add(turn);
    log(level, "impure", omitUndefined({ actor: fields["actor"], why }));
  };
};
