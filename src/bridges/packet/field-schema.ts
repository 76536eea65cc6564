import type { JsonObject } from "../../core/contract/index.ts";

// Words that end in s and are one thing.
const SINGULAR = /(?:ss|us|is)$|^(?:alias|atlas|bias|canvas|gas|has|was|lens|news|means|series|species|chaos|dns|gps|sms|tls|https|aws)$/;
const MEASURES = /^(?:ms|millis|milliseconds|seconds|minutes|hours|days|weeks|months|years|bytes|pixels|percent)$/;
const TEXTS = /^(?:text|name|title|message|query|question|description|intent|subject|body|note|comment|address|path|prompt)$/;
const AMOUNT = /^(?:max|min|num|total)$/;

/**
 * What a field of that name is likely to hold, as JSON Schema: `*_id` text, `*_count` a whole number from 0,
 * `*_enabled` true or false, `*_list` and plurals a list, `email` and `url` text of that format, `max_*` and measures
 * (`timeout_ms`) a number, anything else of no type. `user_id`, `user-id` and `userId` are alike.
 */
export function fieldSchema(field: string, capabilityId: string): JsonObject {
  const words = wordsOf(field);
  return { ...typeOf(words), description: `The ${words.join(" ")} that ${capabilityId} asks for.` };
}

function wordsOf(field: string): readonly string[] {
  const words = field
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  return words.length === 0 ? [field] : words;
}

function typeOf(words: readonly string[]): JsonObject {
  const last = words.at(-1) ?? "";
  if (last === "id") return { type: "string", minLength: 1 };
  if (last === "count") return { type: "integer", minimum: 0 };
  if (last === "enabled") return { type: "boolean" };
  if (last === "list") return { type: "array" };
  if (last === "email") return { type: "string", format: "email" };
  if (last === "url" || last === "uri") return { type: "string", format: "uri" };
  if (MEASURES.test(last) || (words.length > 1 && AMOUNT.test(words[0] ?? ""))) return { type: "number" };
  if (isPlural(last)) return { type: "array" };
  return TEXTS.test(last) ? { type: "string" } : {};
}

const isPlural = (word: string): boolean => word.length > 2 && word.endsWith("s") && !SINGULAR.test(word);
