// Owns: what an author may pass to `wake` and `cancel`, checked where it is passed. Does not own: the times of an expression
// (contract/cron.ts), or when timers fire (core/engine/timers.ts).
import type { Message, Policy, Wake } from "../contract/index.ts";
import { messageOf, nextCronTime } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import type { Action } from "./actions.ts";
import { badTurn } from "./author-errors.ts";
import type { WakeOptions } from "./context.ts";
import { readArgs } from "./schema.ts";
import { toJson } from "./to-json.ts";

/** What setting a timer needs of the kind. */
type KindOfTimer = Pick<ReadonlyMap<string, Action>, "get"> & Pick<Policy, "minEveryMs">;

/** A timer as its author wrote it, checked here, where the author sees it, not when it fires. */
export function wakeOf(name: string, options: WakeOptions, { at: now, to: self }: Message, kind: KindOfTimer): Wake {
  const where = `wake(${JSON.stringify(name.slice(0, 60))})`;
  const { message } = options ?? {};
  if (typeof message !== "object" || message === null)
    throw badTurn(`${where}: give the message that the timer sends, as in { afterMs: 1_000, message: messages.due({ … }) }.`);
  const { to, action, args, ...more } = message;
  if (to !== self)
    throw badTurn(`${where}: its message is for ${JSON.stringify(to)}, but a timer sends to its own actor: make it with \`messages\`.`);
  if (Object.keys(more).length > 0)
    throw badTurn(`${where}: the message of a timer has no options, so leave out ${Object.keys(more).join(", ")}.`);
  const target = kind.get(action);
  if (target === undefined) {
    throw badTurn(`${where} names the message ${JSON.stringify(action)}, which this kind does not have: declare it in \`messages\`.`);
  }
  if (target.replies)
    throw badTurn(`${where} names ${JSON.stringify(action)}, which brings replies (\`replies: true\`): give it a message of its own.`);
  const given = args === undefined || args === null ? undefined : toJson(args, "the arguments of a wake");
  // When it fires, no caller would get a refusal: arguments that do not fit are refused here.
  const { issues } = readArgs(target, given);
  if (issues !== undefined)
    throw badTurn(`${where}: the arguments are none that ${JSON.stringify(action)} takes: ${describeIssues(issues)}.`);
  return { ...whenOf(where, options, now, kind), action, ...(given !== undefined && { args: given }) };
}

function whenOf(where: string, options: WakeOptions, now: number, { minEveryMs }: KindOfTimer): Omit<Wake, "action" | "args"> {
  const { at, afterMs, everyMs, cron, timeZone } = options;
  if ([at, afterMs, cron].filter((given) => given !== undefined).length !== 1)
    throw badTurn(`${where}: give one of \`at\`, \`afterMs\` and \`cron\`.`);
  const asPolicy = `as this kind's policy has it: wait longer, or give the kind a \`minEveryMs\``;
  if (cron !== undefined) {
    if (everyMs !== undefined) throw badTurn(`${where}: \`cron\` repeats already, so leave out \`everyMs\`.`);
    const zone = timeZone ?? "UTC";
    const first = cronTime(where, cron, zone, now);
    if (cronTime(where, cron, zone, first) - first < minEveryMs)
      throw badTurn(`${where}: the ticks of \`cron\` must be at least ${minEveryMs} milliseconds apart, ${asPolicy}.`);
    return { at: first, cron, timeZone: zone };
  }
  if (timeZone !== undefined) throw badTurn(`${where}: \`timeZone\` goes with \`cron\`.`);
  const when = at ?? now + (afterMs ?? Number.NaN);
  if (!Number.isFinite(when)) throw badTurn(`${where}: \`at\` or \`afterMs\` must be a number of milliseconds.`);
  // A timer without a pause would fill the disk and keep the actor busy.
  if (everyMs !== undefined && !(Number.isFinite(everyMs) && everyMs >= minEveryMs))
    throw badTurn(`${where}: \`everyMs\` must be at least ${minEveryMs} milliseconds, ${asPolicy}.`);
  return { at: when, ...(everyMs !== undefined && { everyMs }) };
}

function cronTime(where: string, cron: string, timeZone: string, after: number): number {
  try {
    return nextCronTime(cron, timeZone, after);
  } catch (error) {
    throw badTurn(`${where}: ${messageOf(error)}`);
  }
}

/** The name itself. */
export function wakeName(name: string): string {
  if (typeof name === "string" && name !== "" && name !== "__proto__" && name.length <= 256) return name;
  throw badTurn(
    `${typeof name === "string" ? JSON.stringify(name.slice(0, 60)) : String(name)} is no name for a wake: use 1 to 256 characters.`,
  );
}
