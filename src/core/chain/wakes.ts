import type { SetWake, Turn, Wake } from "../contract/index.ts";
import { check } from "./json-check.ts";
import type { Base, Incoming } from "./turn.ts";

/** Named wakes of one actor; a behaviour that makes names of what it is sent must not fill the row. */
export const MOST_WAKES = 1_000;
const LONGEST_WAKE_NAME = 256;

/** The named wakes an actor has after a turn. */
export function wakesAfter({ extra: { wakes: before } }: Base, job: Incoming, turn: Turn<unknown>): Readonly<Record<string, SetWake>> {
  if (job.wake === undefined && turn.wake === undefined) return before;
  const wakes: Record<string, SetWake> = { ...before };
  if (job.wake !== undefined) takeOff(wakes, job.wake, job.message.at);
  for (const [name, wake] of Object.entries(turn.wake ?? {})) {
    if (wake === null) delete wakes[name];
    else wakes[name] = { ...checked(name, wake), rang: job.message.at };
  }
  if (Object.keys(wakes).length > MOST_WAKES) throw new RangeError(`More than ${MOST_WAKES} named wakes: cancel some, or name fewer.`);
  return wakes;
}

/** A wake that has come: gone, or at its next time after `now`, so that missed ones come once, and a clock that was set back delays none. */
function takeOff(wakes: Record<string, SetWake>, name: string, now: number): void {
  const wake = wakes[name];
  if (wake?.everyMs === undefined) {
    delete wakes[name];
    return;
  }
  const { everyMs } = wake;
  const from = Math.min(wake.at, now);
  wakes[name] = { ...wake, at: from + everyMs * (Math.floor((now - from) / everyMs) + 1), rang: now };
}

function checked(name: string, { at, everyMs, action, args }: Wake): Wake {
  if (name === "" || name === "__proto__" || name.length > LONGEST_WAKE_NAME)
    throw new RangeError(`${JSON.stringify(name.slice(0, 60))} is no name for a wake: use 1 to ${LONGEST_WAKE_NAME} characters.`);
  if (!Number.isFinite(at)) throw new RangeError(`The wake "${name}" has no time: give \`at\` in milliseconds since 1970.`);
  if (everyMs !== undefined && !(Number.isFinite(everyMs) && everyMs >= 1))
    throw new RangeError(`The wake "${name}" repeats every ${everyMs} ms: give at least 1.`);
  if (args !== undefined) check(args, `wake.${name}.args`);
  return { at, ...(everyMs === undefined ? {} : { everyMs }), action, ...(args === undefined ? {} : { args }) };
}

/** Names of the wakes a turn sets. */
export const namesSet = (wakes: NonNullable<Turn<unknown>["wake"]>): readonly string[] =>
  Object.keys(wakes).filter((name) => wakes[name] !== null);
