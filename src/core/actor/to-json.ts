// Owns: copying what an author's code returns into JSON. Does not own: checking a state (core/chain).
import { type JsonObject, type Json, TroupeError } from "../contract/index.ts";
import { classOf, DEEPEST, setOwn } from "../contract/internal.ts";
import { whereMade } from "./author-errors.ts";
import { frozenOf } from "./containers.ts";

type Mistake = "BAD_TURN" | "BAD_DEFINITION";

/**
 * A JSON copy of `value` that shares nothing writable with it. Drafts are read out; what is frozen and JSON throughout is returned as it
 * is. Undefined properties are left out, an undefined value is null. Throws `code` with the path of what is not JSON.
 */
export function toJson(value: unknown, where: string, code: Mistake = "BAD_TURN"): Json {
  const budget: Budget = { left: MOST_CONTAINERS };
  let copy: Json | typeof NOT_JSON;
  try {
    copy = copied(value, 0, budget);
  } catch (cause) {
    throw whereMade(
      new TroupeError(code, `${where} cannot be read: it throws, or is a draft of a turn that is over. Pass plain values.`, { cause }),
    );
  }
  if (copy === NOT_JSON) {
    const why =
      budget.left < 0 ? `it holds more than ${MOST_CONTAINERS} lists and objects, or the same ones again and again` : whyNot(value, "", 0);
    throw whereMade(new TroupeError(code, `${where} is not JSON: ${why}.`));
  }
  return copy;
}

const NOT_JSON = Symbol("not JSON");

/** A shared part is copied once for each place it is in: without a limit, thirty nested lists become a billion. */
const MOST_CONTAINERS = 1_000_000;

interface Budget {
  left: number;
}

function copied(value: unknown, depth: number, budget: Budget): Json | typeof NOT_JSON {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? value : NOT_JSON;
    case "number":
      return Number.isFinite(value) ? value : NOT_JSON;
    case "boolean":
      return value;
    case "undefined":
      return depth === 0 ? null : NOT_JSON;
    case "object":
      if (value === null) return null;
      if (depth >= DEEPEST || (budget.left -= 1) < 0) return NOT_JSON;
      return copiedInside(frozenOf(value), depth, budget);
    default:
      return NOT_JSON;
  }
}

function copiedInside(value: unknown, depth: number, budget: Budget): Json | typeof NOT_JSON {
  if (Array.isArray(value)) return copiedList(value, depth, budget);
  return typeof value === "object" && value !== null ? copiedObject(value, depth, budget) : NOT_JSON;
}

function copiedList(list: readonly unknown[], depth: number, budget: Budget): Json | typeof NOT_JSON {
  const copy: Json[] = [];
  let same = true;
  for (const item of list) {
    const made = copied(item, depth + 1, budget);
    if (made === NOT_JSON) return NOT_JSON;
    same &&= made === item;
    copy.push(made);
  }
  return same && isFrozenList(list) ? list : copy;
}

function copiedObject(object: object, depth: number, budget: Budget): Json | typeof NOT_JSON {
  if (!isPlain(object)) return NOT_JSON;
  const copy: Record<string, Json> = {};
  let same = true;
  for (const key of Object.keys(object)) {
    const item: unknown = Reflect.get(object, key);
    if (item === undefined) {
      same = false;
      continue;
    }
    const made = copied(item, depth + 1, budget);
    if (made === NOT_JSON || !key.isWellFormed()) return NOT_JSON;
    same &&= made === item;
    setOwn(copy, key, made);
  }
  return same && isFrozenObject(object) ? object : copy;
}

// The callers have checked that every item is JSON: with that, what is frozen (part of a committed state) needs no copy.
function isFrozenList(list: readonly unknown[]): list is readonly Json[] {
  return Object.isFrozen(list);
}

function isFrozenObject(object: object): object is JsonObject {
  return Object.isFrozen(object);
}

function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || (prototype === null && object !== Object.prototype);
}

function whyNot(value: unknown, path: string, depth: number): string {
  const at = path === "" ? "it" : path;
  if (typeof value === "string") return `${at} holds half a character (a lone surrogate)`;
  if (typeof value === "number") return `${at} is ${value} (use null)`;
  if (value === undefined) return `${at} is undefined (use null)`;
  if (typeof value === "bigint") return `${at} is a bigint (use its text)`;
  if (typeof value !== "object" || value === null) return `${at} is a ${typeof value} (leave it away)`;
  if (depth >= DEEPEST) return `${path.slice(0, 60)}… is deeper than ${DEEPEST} levels, or holds itself`;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (copied(item, depth + 1, { left: MOST_CONTAINERS }) === NOT_JSON) return whyNot(item, `${path}/${index}`, depth + 1);
    }
    return `${at} is not`;
  }
  if (!isPlain(value)) return `${at} is a ${classOf(value)} (use its data, or a number or text that stands for it)`;
  for (const [key, item] of Object.entries(value)) {
    if (!key.isWellFormed()) return `${at} has a name that holds half a character`;
    if (item !== undefined && copied(item, depth + 1, { left: MOST_CONTAINERS }) === NOT_JSON)
      return whyNot(item, `${path}/${key}`, depth + 1);
  }
  return `${at} is not`;
}
