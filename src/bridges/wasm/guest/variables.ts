import type { Grants } from "../manifest.ts";

/** The part of the environment that a manifest shows: by name and by the beginning of a name, never all that is there. */
export function variablesFor(
  grant: Grants["environment"],
  all: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  if (grant === undefined) return {};
  const { allowed, denied, prefixes } = grant;
  const shown = new Map<string, string>();
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined || denied.includes(name)) continue;
    if (allowed.includes(name) || prefixes.some((prefix) => prefix !== "" && name.startsWith(prefix))) shown.set(name, value);
  }
  return Object.fromEntries(shown);
}
