// Owns: a timer as the API shows it. Does not own: which timers there are (actor-routes.ts, queue-routes.ts).

import type { ActorId, SetWake } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { ConsoleData } from "./data.ts";
import { inList } from "./event-rows.ts";
import { redactedArgs } from "./requests.ts";
import type { TimerRow } from "./shapes.ts";

export function timerRow(actor: ActorId, name: string, wake: SetWake, data: ConsoleData): TimerRow {
  const { at, action, everyMs, cron, timeZone, cause } = wake;
  const args = wake.args === undefined ? undefined : redactedArgs(data, { id: "", to: actor, action, args: wake.args, at, seed: "" });
  return { actor, name, at, action, ...omitUndefined({ args: inList(args).value, everyMs, cron, timeZone, cause }) };
}
