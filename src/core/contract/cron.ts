// Owns: the times of a cron expression in a time zone. Does not own: timers (core/chain/turn.ts, core/engine/timers.ts).
import { Cron } from "croner";
import { TroupeError } from "./errors.ts";

/** Longer than any sensible expression: parsing takes time, and the expression is stored with the timer. */
const LONGEST = 200;
const MINUTE = 60_000;
const NICKNAMES: ReadonlySet<string> = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);
const FIVE_FIELDS = /^\S+(?: \S+){4}$/;

/**
 * The first time after `after` (both in milliseconds since 1970). `cron` has five fields, such as `0 9 * * 1-5`, or is a nickname, such as
 * `@daily`; `timeZone` is an IANA name. A local time that a clock change skips comes when the clock has changed; one that comes twice counts
 * once. Where the minute or the hour has `*` or a step, a skipped time does not come, and one that comes twice counts twice. Throws `BAD_TURN`
 * for what is no expression, no time zone, or never comes.
 */
export function nextCronTime(cron: string, timeZone: string, after: number): number {
  const text = quoted(cron);
  if (typeof cron !== "string" || cron.length > LONGEST || !(NICKNAMES.has(cron) || FIVE_FIELDS.test(cron)))
    throw badCron(`${text} is no cron expression: give minute, hour, day, month and weekday, such as "0 9 * * 1-5", or "@daily".`);
  if (!isTimeZone(timeZone)) throw badCron(`${quoted(timeZone)} is no time zone: give an IANA name, such as "Europe/Berlin".`);
  let next: Date | null;
  try {
    // Without a function it schedules nothing. By default, a time in a list or a range would be lost or doubled where the clock changes.
    next = new Cron(cron, { timezone: timeZone, fixedTimeRule: "no-wildcard" }).nextRun(new Date(after));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.replace(/^CronPattern: /, "") : "";
    throw badCron(`${text} is no cron expression (${why}): give minute, hour, day, month and weekday, such as "0 9 * * 1-5".`);
  }
  if (next === null) throw badCron(`${text} never comes: no such day is in the calendar.`);
  return skippedTick(cron, timeZone, after, next.getTime()) ?? next.getTime();
}

/** Not the minute or the hour of `*`, `?` or a step. */
const FIXED_TIME = /^(?:[^\s*?/]+ [^\s*?/]+ |@(?!hourly))/;
/** Clocks change less often. */
const CHANGES_APART = 20 * 24 * 60 * MINUTE;

/**
 * The tick between two times that comes when the clock has skipped its local time. Croner loses one where that is another day, as in Nuuk,
 * whose clocks go from 23:00 to midnight.
 */
function skippedTick(cron: string, timeZone: string, after: number, next: number): number | undefined {
  if (!FIXED_TIME.test(cron)) return undefined;
  const offset = offsetIn(timeZone);
  let [from, before] = [after, offset(after)];
  while (from < next) {
    const to = Math.min(from + CHANGES_APART, next);
    const then = offset(to);
    if (then > before) {
      let [low, high] = [Math.floor(from / MINUTE), Math.ceil(to / MINUTE)];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (offset(middle * MINUTE) === before) low = middle;
        else high = middle;
      }
      const at = high * MINUTE;
      // The expression by a clock that skips nothing.
      const local = new Cron(cron, { timezone: "UTC" }).nextRun(new Date(at + before - 1));
      if (at > after && at < next && local !== null && local.getTime() < at + then) return at;
    }
    [from, before] = [to, then];
  }
  return undefined;
}

/** What the clocks of the zone are ahead of UTC at a time, in milliseconds. */
function offsetIn(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign, hours = "0", minutes = "0"] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -MINUTE : MINUTE);
  };
}

/**
 * When a timer fires that waits for its tick at `at` and last fired, or was set, at `rang`, if the clock was set back since: at `due`, by the
 * clock as it is now, it would have fired. A schedule goes by what the clock shows, so it fires at the first tick from then on. One less than
 * a minute ago is in time, and one that it fired at already is left out.
 */
export function tickOfSetBack(cron: string, timeZone: string, at: number, rang: number, due: number): number {
  const tick = nextCronTime(cron, timeZone, due - MINUTE);
  const rangThen = tick <= rang && rang < tick + MINUTE;
  return Math.min(at, rangThen ? nextCronTime(cron, timeZone, tick) : tick);
}

const quoted = (value: unknown): string => JSON.stringify(String(value).slice(0, LONGEST));

const badCron = (message: string): TroupeError<"BAD_TURN"> => new TroupeError("BAD_TURN", message);

function isTimeZone(name: unknown): boolean {
  if (typeof name !== "string" || name.length > LONGEST) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
