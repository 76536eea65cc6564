// Owns: taking secrets out of what an event stores. Does not own: which arguments are secret (the author's `secret`), traffic that the console
// records (bridges/console).
import { isJsonObject, isList, type Json, REDACTED } from "../contract/index.ts";
import { getOwn, setOwn } from "../contract/internal.ts";

/** Whether any part of the value was redacted. */
export function isRedacted(value: Json): boolean {
  if (value === REDACTED) return true;
  if (isList(value)) return value.some(isRedacted);
  return isJsonObject(value) && Object.values(value).some(isRedacted);
}

/** Shorter secrets would be found in unrelated texts. */
const SHORTEST_SECRET = 4;

/** The texts that redaction removed from `args`. */
export function secretsIn(args: Json, redacted: Json): readonly string[] {
  const found = new Set<string>();
  collect(args, redacted, found);
  // Longest first, so that a secret that contains another one is removed whole.
  return [...found].toSorted((a, b) => b.length - a.length);
}

function collect(value: Json, redacted: Json | undefined, found: Set<string>): void {
  if (value === redacted) return;
  if (isList(value)) {
    const other = isList(redacted) ? redacted : [];
    for (const [index, item] of value.entries()) collect(item, other[index], found);
  } else if (isJsonObject(value)) {
    const other = isJsonObject(redacted) ? redacted : {};
    for (const key of Object.keys(value)) collect(value[key] ?? null, getOwn(other, key), found);
  } else if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (text.length >= SHORTEST_SECRET) found.add(text);
  }
}

/** `value` with every occurrence of these texts redacted. */
export function withoutSecrets(value: Json, secrets: readonly string[]): Json {
  if (secrets.length === 0) return value;
  if (typeof value === "string") {
    let text = value;
    for (const secret of secrets) text = text.replaceAll(secret, REDACTED);
    return text;
  }
  if (typeof value === "number") return secrets.includes(String(value)) ? REDACTED : value;
  if (isList(value)) return value.map((item) => withoutSecrets(item, secrets));
  if (!isJsonObject(value)) return value;
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) setOwn(result, key, withoutSecrets(value[key] ?? null, secrets));
  return result;
}
