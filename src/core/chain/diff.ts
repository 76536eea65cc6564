import { type Bag, isBag, isList, type Json } from "../contract/index.ts";
import { setOwn, type Changes } from "../contract/internal.ts";
import { diffList } from "./diff-list.ts";
import {
  DEFAULT_BOUND,
  holdsItemsOnly,
  holdsPlainValues,
  isJson,
  isObject,
  isPlain,
  MAX_DEPTH,
  notJson,
  type Allowance,
} from "./json-check.ts";
import { GONE, MOVED, STEPS, type Walk } from "./patch-format.ts";

/** Thrown inside the walk; the slow walk finds out where. */
const NOT_JSON = Symbol("not JSON");

/**
 * The patch that makes `after` of `before`, or undefined where they are equal as JSON,
 * order of keys included. Subtrees that are the same object cost nothing and are not
 * checked again; whatever is new is checked (`STATE_NOT_JSON` with its path,
 * `STATE_TOO_LARGE` past `maxBytes` of new JSON). `before` must be JSON.
 * The format is in docs/design/chain.md.
 */
export const diff = (before: Json, after: unknown, maxBytes = DEFAULT_BOUND): Json | undefined =>
  diffChanges(before, after, maxBytes, undefined);

/** The same patch. Where a draft says what it changed, nothing else is compared. */
export function diffChanges(before: Json, after: unknown, maxBytes: number, changes: Changes | undefined): Json | undefined {
  const walk = new Comparison(maxBytes);
  try {
    return walk.between(before, after, 0, changes);
  } catch (error) {
    if (error === NOT_JSON) throw notJson(after, "state", walk.allowance);
    throw error;
  }
}

class Comparison implements Walk {
  readonly allowance: Allowance;
  constructor(maxBytes: number) {
    this.allowance = { left: maxBytes };
  }

  between(old: Json, now: unknown, depth: number, changes?: Changes): Json | undefined {
    if (old === now) return undefined;
    const keys = changes?.keys;
    if (changes !== undefined && keys !== undefined) {
      if (isBag(old) && isObject(now)) return diffKeys(old, now, inOrder(keys, now), depth, this, changes);
      if (keys.length === 1 && isList(old) && isList(now)) return diffItem(old, now, keys[0] ?? "", depth, this, changes);
    }
    if (isBag(old) && isObject(now)) {
      if (depth >= MAX_DEPTH || !isPlain(now) || (changes === undefined && !holdsPlainValues(now))) throw NOT_JSON;
      return diffObject(old, now, depth, this, changes);
    }
    if (isList(old) && isList(now)) {
      if (depth >= MAX_DEPTH || !isPlain(now) || (changes === undefined && !holdsItemsOnly(now))) throw NOT_JSON;
      return diffList(old, now, depth, this);
    }
    return [this.take(now, depth)];
  }

  take(value: unknown, depth: number): Json {
    if (isJson(value, depth, this.allowance)) return value;
    throw NOT_JSON;
  }
}

/** A patch has them in the order of the object, whatever order they were written in. */
const inOrder = (keys: readonly string[], object: object): readonly string[] =>
  keys.length < 2 ? keys : Object.keys(object).filter((key) => keys.includes(key));

function diffKeys(
  before: Bag,
  after: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  depth: number,
  walk: Walk,
  changes: Changes | undefined,
): Record<string, Json> | undefined {
  let patch: Record<string, Json> | undefined;
  for (const key of keys) {
    const was = before[key];
    const value = after[key];
    if (was === value || was === undefined) continue;
    const node = walk.between(was, value, depth + 1, changes?.at(key, was, value));
    if (node !== undefined) setOwn((patch ??= {}), key, node);
  }
  return patch;
}

/** The change of a list that differs at one place, which is no other place's item. */
function diffItem(
  before: readonly Json[],
  after: readonly unknown[],
  key: string,
  depth: number,
  walk: Walk,
  changes: Changes,
): Json | undefined {
  const index = Number(key);
  const was = before[index];
  const now = after[index];
  const node = was === undefined ? undefined : walk.between(was, now, depth + 1, changes.at(key, was, now));
  return node === undefined ? undefined : [STEPS, [index, node]];
}

const INDEX = /^(?:0|[1-9]\d{0,9})$/u;
/** Such keys come first and ascending in every object, whoever builds it: they cannot be out of order. */
const isIndex = (key: string): boolean => INDEX.test(key) && Number(key) < 4_294_967_295;

function diffObject(
  before: Bag,
  after: Readonly<Record<string, unknown>>,
  depth: number,
  walk: Walk,
  changes: Changes | undefined,
): Json | undefined {
  const old = Object.keys(before);
  const now = Object.keys(after);
  let patch: Record<string, Json> | undefined;
  let same = 0;
  while (same < old.length && old[same] === now[same]) same += 1;
  if (same === old.length) {
    patch = diffKeys(before, after, old, depth, walk, changes);
    for (let index = same; index < now.length; index += 1) {
      const key = now[index] ?? "";
      if (!key.isWellFormed()) throw NOT_JSON;
      setOwn((patch ??= {}), key, [walk.take(after[key], depth + 1)]);
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
      setOwn(patch, key, [walk.take(value, depth + 1)]);
      continue;
    }
    const node = walk.between(was, value, depth + 1, changes?.at(key, was, value));
    if (kept.has(key)) {
      if (node !== undefined) setOwn(patch, key, node);
    } else setOwn(patch, key, [MOVED, node ?? null]);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Keys that stay where they are; those that go are written to the patch. */
function inPlace(before: object, after: object, old: readonly string[], now: readonly string[], patch: Record<string, Json>): Set<string> {
  const kept = new Set<string>();
  let next = 0;
  while (next < now.length && isIndex(now[next] ?? "")) next += 1;
  for (const key of old) {
    if (!Object.hasOwn(after, key)) setOwn(patch, key, GONE);
    else if (isIndex(key)) kept.add(key);
    else if (now[next] === key) {
      kept.add(key);
      next += 1;
    }
  }
  return kept;
}
