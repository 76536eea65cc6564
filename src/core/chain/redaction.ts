// Owns: taking secrets out of what an event stores. Does not own: which arguments are secret (the author's `secret`), traffic that the console
// records (bridges/console).
import { isJsonObject, isList, type Json, type Message, REDACTED } from "../contract/index.ts";
import { getOwn, isReplyAction, setOwn } from "../contract/internal.ts";

/** Whether any part of the value was redacted. */
export function isRedacted(value: Json): boolean {
  if (value === REDACTED) return true;
  if (isList(value)) return value.some(isRedacted);
  return isJsonObject(value) && Object.values(value).some(isRedacted);
}

/** Whether the turn of a stored message lacks a secret. What its reply brings back is for another turn. */
export const lacksSecret = ({ args, start, answers }: Message): boolean => [args, start ?? null, answers ?? null].some(isRedacted);

/** Stands for what no event stores. A turn that reads it throws. */
const NOT_STORED: Json = new Proxy<Record<string, Json>>(Object.freeze({}), {
  get() {
    throw new TypeError("A secret is not stored.");
  },
});

/** A stored message whose turn runs again if it does not read what was passed on to it in secret. */
export function withoutPassedOn(message: Message): Message {
  const { action, args } = message;
  if (!isReplyAction(action) || !isJsonObject(args)) return message;
  const { context } = args;
  if (!isJsonObject(context) || context["secret"] !== true || context["args"] !== REDACTED) return message;
  return { ...message, args: { ...args, context: { ...context, args: NOT_STORED } } };
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
