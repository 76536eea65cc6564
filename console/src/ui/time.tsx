// Owns: times as people read them, the local time and the exact one on hover; bytes and numbers of things.

const SHORT = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const LONG = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const isToday = (at: number): boolean => new Date(at).toDateString() === new Date().toDateString();

/** In which all times are shown: `Europe/Berlin`. */
export const timeZone = (): string => SHORT.resolvedOptions().timeZone;

/** Today's times without the date. */
export function Time({ at }: { readonly at: number }) {
  const date = new Date(at);
  const text = isToday(at) ? SHORT.format(date) : LONG.format(date);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {text}
    </time>
  );
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});

/** To the millisecond, for lists of what happens now. */
export const ClockTime = ({ at }: { readonly at: number }) => (
  <time class="mono dim" dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
    {isToday(at) ? "" : `${DAY.format(at)} `}
    {CLOCK.format(at)}
    <span class="wide">.{String(Math.trunc(at) % 1_000).padStart(3, "0")}</span>
  </time>
);

/** `0.4 ms`, `12 ms`, `3.2 s`, `5 min`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** `1 body`, `2,000 bodies`. Default plural: with an s. */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : several}`;

/** `812 B`, `3.4 KiB`, `1.2 MiB`. */
export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = count;
  let unit = "B";
  for (const next of units) {
    if (value < 1_024) break;
    value /= 1_024;
    unit = next;
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

/** `in 12 s`, `3 min ago`. */
function relative(at: number, now: number): string {
  const away = Math.abs(at - now);
  const text = away < 1_000 ? "now" : away < 60_000 ? `${Math.round(away / 1_000)} s` : duration(away);
  return text === "now" ? text : at > now ? `in ${text}` : `${text} ago`;
}

/** A time by how far away it is. The exact one on hover. */
export const Until = ({ at, now = Date.now(), prefix = "" }: { readonly at: number; readonly now?: number; readonly prefix?: string }) => (
  <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
    {prefix}
    {relative(at, now)}
  </time>
);
