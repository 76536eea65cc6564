import type { Written } from "../contract/internal.ts";

/** As `atMostBytes`: of a number, a boolean or null. */
const SHORT = 25;

/**
 * By how many bytes the state's text has grown at most, where a draft put nothing but texts, numbers, booleans and null into
 * places that were there; 0 where nothing differs. Undefined: it is to be compared, and checked, as a patch is made.
 */
export function growthOf(written: Written): number | undefined {
  const { keys, before, after } = written;
  if (keys === undefined) return undefined;
  let bytes = 0;
  for (const key of keys) {
    const was = before[key];
    const now = after[key];
    if (was === now) continue;
    const more = typeof now === "object" && now !== null ? growthAt(written, key, was, now) : growthBy(now);
    if (more === undefined) return undefined;
    bytes += more;
  }
  return bytes;
}

function growthAt(written: Written, key: string, was: unknown, now: object): number | undefined {
  const part = written.at(key, was, now);
  return part === undefined ? undefined : growthOf(part);
}

function growthBy(value: unknown): number | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? SHORT : undefined;
    case "string":
      return value.isWellFormed() ? value.length * 6 + 2 : undefined;
    case "boolean":
      return SHORT;
    default:
      return value === null ? SHORT : undefined;
  }
}
