import type { Json } from "../contract/index.ts";
import { diffList } from "./diff-list.ts";
import {
  DEFAULT_BOUND,
  isJson,
  isJsonList,
  isJsonObject,
  isList,
  isObject,
  isPlain,
  MAX_DEPTH,
  notJson,
  type Allowance,
} from "./json-check.ts";
import { GONE, MOVED, type Between, type Take } from "./patch-format.ts";
import { put } from "./put.ts";

/** Thrown inside the walk; the slow walk finds out where. */
const NOT_JSON = Symbol("not JSON");

/**
 * The patch that makes `after` of `before`, or undefined where they are equal as JSON,
 * order of keys included. Subtrees that are the same object cost nothing and are not
 * checked again; whatever is new is checked (`STATE_NOT_JSON` with its path,
 * `STATE_TOO_LARGE` past `maxBytes` of new JSON). `before` must be JSON.
 * The format is in docs/design/chain.md.
 */
export function diff(before: Json, after: unknown, maxBytes = DEFAULT_BOUND): Json | undefined {
  if (before === after) return undefined;
  const allowance: Allowance = { left: maxBytes };
  const between: Between = (old, now, depth) => {
    if (old === now) return undefined;
    if (isJsonObject(old) && isObject(now)) {
      if (depth >= MAX_DEPTH || !isPlain(now)) throw NOT_JSON;
      return diffObject(old, now, depth, between, take);
    }
    if (isJsonList(old) && isList(now)) {
      if (depth >= MAX_DEPTH || !isPlain(now)) throw NOT_JSON;
      return diffList(old, now, depth, between, take);
    }
    return [take(now, depth)];
  };
  const take = (value: unknown, depth: number): Json => {
    if (isJson(value, depth, allowance)) return value;
    throw NOT_JSON;
  };
  try {
    return between(before, after, 0);
  } catch (error) {
    if (error === NOT_JSON) throw notJson(after, "state", allowance);
    throw error;
  }
}

const INDEX = /^(?:0|[1-9]\d{0,9})$/u;
/** Such keys come first and ascending in every object, whoever builds it: they cannot be out of order. */
const isIndex = (key: string): boolean => INDEX.test(key) && Number(key) < 4_294_967_295;

function diffObject(
  before: Readonly<Record<string, Json>>,
  after: Readonly<Record<string, unknown>>,
  depth: number,
  between: Between,
  take: Take,
): Json | undefined {
  const old = Object.keys(before);
  const now = Object.keys(after);
  let patch: Record<string, Json> | undefined;
  let same = 0;
  while (same < old.length && old[same] === now[same]) same += 1;
  if (same === old.length) {
    for (let index = 0; index < now.length; index += 1) {
      const key = now[index] ?? "";
      const value = after[key];
      if (index < same) {
        const was = before[key];
        if (was === value || was === undefined) continue;
        const node = between(was, value, depth + 1);
        if (node !== undefined) put((patch ??= {}), key, node);
      } else {
        if (!key.isWellFormed()) throw NOT_JSON;
        put((patch ??= {}), key, [take(value, depth + 1)]);
      }
    }
    return patch;
  }
  patch = {};
  const kept = inPlace(before, after, old, now, patch);
  for (const key of now) {
    const value = after[key];
    const was = Object.hasOwn(before, key) ? before[key] : undefined;
    if (was === undefined) {
      if (!key.isWellFormed()) throw NOT_JSON;
      put(patch, key, [take(value, depth + 1)]);
      continue;
    }
    const node = between(was, value, depth + 1);
    if (kept.has(key)) {
      if (node !== undefined) put(patch, key, node);
    } else put(patch, key, [MOVED, node ?? null]);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Keys that stay where they are; those that go are written to the patch. */
function inPlace(before: object, after: object, old: readonly string[], now: readonly string[], patch: Record<string, Json>): Set<string> {
  const kept = new Set<string>();
  let next = 0;
  while (next < now.length && isIndex(now[next] ?? "")) next += 1;
  for (const key of old) {
    if (!Object.hasOwn(after, key)) put(patch, key, GONE);
    else if (isIndex(key)) kept.add(key);
    else if (now[next] === key) {
      kept.add(key);
      next += 1;
    }
  }
  return kept;
}
