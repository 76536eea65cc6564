import { REDACTED, type Json, isBag, isList } from "../contract/index.ts";
import { getOwn, setOwn } from "../contract/internal.ts";

/** A value in which some place was redacted. */
export function isRedacted(value: Json): boolean {
  if (value === REDACTED) return true;
  if (isList(value)) return value.some(isRedacted);
  return isBag(value) && Object.values(value).some(isRedacted);
}

/** Shorter ones would make holes in unrelated texts. */
const SHORTEST = 4;

/** The texts that redaction took out of `args`. */
export function secretsIn(args: Json, redacted: Json): readonly string[] {
  const found = new Set<string>();
  collect(args, redacted, found);
  // Longest first: a secret within a secret must not leave the rest of it.
  return [...found].toSorted((a, b) => b.length - a.length);
}

function collect(value: Json, shown: Json | undefined, found: Set<string>): void {
  if (value === shown) return;
  if (isList(value)) {
    const other = isList(shown) ? shown : [];
    for (const [index, item] of value.entries()) collect(item, other[index], found);
  } else if (isBag(value)) {
    const other = isBag(shown) ? shown : {};
    for (const key of Object.keys(value)) collect(value[key] ?? null, getOwn(other, key), found);
  } else if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (text.length >= SHORTEST) found.add(text);
  }
}

/** `value` without these texts, wherever they occur in it: what a turn records may repeat its arguments. */
export function withoutSecrets(value: Json, secrets: readonly string[]): Json {
  if (secrets.length === 0) return value;
  if (typeof value === "string") {
    let text = value;
    for (const secret of secrets) text = text.replaceAll(secret, REDACTED);
    return text;
  }
  if (typeof value === "number") return secrets.includes(String(value)) ? REDACTED : value;
  if (isList(value)) return value.map((item) => withoutSecrets(item, secrets));
  if (!isBag(value)) return value;
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) setOwn(result, key, withoutSecrets(value[key] ?? null, secrets));
  return result;
}
