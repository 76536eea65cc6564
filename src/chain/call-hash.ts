import type { Json } from "../contract/index.ts";
import { sha256 } from "./event.ts";
import { check, isJsonList, isJsonObject } from "./json-check.ts";

const DIGITS = 16;

/** Tells calls apart by what they ask for: equal for the same action and equal arguments, in whatever order their keys are. Throws where the arguments are no JSON. */
export function callHash(action: string, args: Json): string {
  check(args, "args");
  return sha256(`${action}\n${canonical(args)}`).slice(0, DIGITS);
}

function canonical(value: Json): string {
  if (isJsonList(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value).toSorted();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
}
