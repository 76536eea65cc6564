// Owns: the patch between two states (format: docs/design/chain.md): making and applying it. Does not own: what counts as JSON
// (json-check.ts), where a draft wrote (core/actor).
import { type JsonObject, isJsonObject, isList, type Json, StoreError } from "../contract/index.ts";
import { type Changes, getOwn, setOwn } from "../contract/internal.ts";
import {
  type Allowance,
  DEFAULT_BOUND,
  holdsItemsOnly,
  holdsPlainValues,
  isJson,
  isObject,
  isPlain,
  MAX_DEPTH,
  notJson,
} from "./json-check.ts";

/** A key that is removed. */
const REMOVED = 0;
/** First item of a change inside a list. */
const STEPS = 0;
/** First item of a key that moves to the end of its object, changed or (null) unchanged. */
const MOVED = 1;

// ── making a patch ──────────────────────────────────────────────────────────

/** Thrown inside the walk; a slower walk then finds out where. */
const NOT_JSON = Symbol("not JSON");

/**
 * The patch from `before` to `after`, or undefined if they are equal as JSON, order of keys included. Subtrees that are the same object
 * cost nothing and are not checked again. New values are checked (`STATE_NOT_JSON` with the path, `STATE_TOO_LARGE` past `maxBytes` of
 * new JSON). `before` must be JSON.
 */
export const diff = (before: Json, after: unknown, maxBytes = DEFAULT_BOUND): Json | undefined =>
  diffChanges(before, after, maxBytes, undefined);

/** The same patch. If a draft says what it changed, nothing else is compared. */
export function diffChanges(before: Json, after: unknown, maxBytes: number, changes: Changes | undefined): Json | undefined {
  const comparison = new Comparison(maxBytes);
  try {
    return comparison.between(before, after, 0, changes);
  } catch (error) {
    if (error === NOT_JSON) throw notJson(after, "state", comparison.allowance);
    throw error;
  }
}

class Comparison {
  readonly allowance: Allowance;
  constructor(maxBytes: number) {
    this.allowance = { left: maxBytes };
  }

  /** The change between two values; undefined if they are equal as JSON. */
  between(before: Json, after: unknown, depth: number, changes?: Changes): Json | undefined {
    if (before === after) return undefined;
    const keys = changes?.keys;
    if (changes !== undefined && keys !== undefined) {
      if (isJsonObject(before) && isObject(after)) return this.#keys(before, after, inOrder(keys, after), depth, changes);
      if (keys.length === 1 && isList(before) && isList(after)) return this.#item(before, after, keys[0] ?? "", depth, changes);
    }
    if (isJsonObject(before) && isObject(after)) {
      if (depth >= MAX_DEPTH || !isPlain(after) || (changes === undefined && !holdsPlainValues(after))) throw NOT_JSON;
      return this.#object(before, after, depth, changes);
    }
    if (isList(before) && isList(after)) {
      if (depth >= MAX_DEPTH || !isPlain(after) || (changes === undefined && !holdsItemsOnly(after))) throw NOT_JSON;
      return this.#list(before, after, depth);
    }
    return [this.#checked(after, depth)];
  }

  #checked(value: unknown, depth: number): Json {
    if (isJson(value, depth, this.allowance)) return value;
    throw NOT_JSON;
  }

  /** The changes at keys that both objects have. */
  #keys(before: JsonObject, after: Unchecked, keys: readonly string[], depth: number, changes?: Changes): Record<string, Json> | undefined {
    let patch: Record<string, Json> | undefined;
    for (const key of keys) {
      const was = before[key];
      const now = after[key];
      if (was === now || was === undefined) continue;
      const node = this.between(was, now, depth + 1, changes?.at(key, was, now));
      if (node !== undefined) setOwn((patch ??= {}), key, node);
    }
    return patch;
  }

  /** The change of a list in which only the item at `key` differs. */
  #item(before: readonly Json[], after: readonly unknown[], key: string, depth: number, changes: Changes): Json | undefined {
    const index = Number(key);
    const was = before[index];
    const now = after[index];
    const node = was === undefined ? undefined : this.between(was, now, depth + 1, changes.at(key, was, now));
    return node === undefined ? undefined : [STEPS, [index, node]];
  }

  #object(before: JsonObject, after: Unchecked, depth: number, changes: Changes | undefined): Json | undefined {
    const old = Object.keys(before);
    const now = Object.keys(after);
    let patch: Record<string, Json> | undefined;
    let same = 0;
    while (same < old.length && old[same] === now[same]) same += 1;
    if (same === old.length) {
      patch = this.#keys(before, after, old, depth, changes);
      for (let index = same; index < now.length; index += 1) {
        const key = now[index] ?? "";
        if (!key.isWellFormed()) throw NOT_JSON;
        setOwn((patch ??= {}), key, [this.#checked(after[key], depth + 1)]);
      }
      return patch;
    }
    patch = {};
    const inPlace = keysInPlace(before, after, old, now, patch);
    for (const key of now) {
      const value = after[key];
      const was = Object.hasOwn(before, key) ? before[key] : undefined;
      if (was === undefined) {
        if (!key.isWellFormed()) throw NOT_JSON;
        setOwn(patch, key, [this.#checked(value, depth + 1)]);
        continue;
      }
      const node = this.between(was, value, depth + 1, changes?.at(key, was, value));
      if (!inPlace.has(key)) setOwn(patch, key, [MOVED, node ?? null]);
      else if (node !== undefined) setOwn(patch, key, node);
    }
    return Object.keys(patch).length === 0 ? undefined : patch;
  }

  /**
   * The change inside a list: `[0, step, …]`. A step is `[index, node]` (that item changes) or `[index, removed, [items]]` (a splice).
   * Indices count in the list before all steps, ascending. Linear: a bounded log that drops its oldest line and gains one is two short
   * splices, not a new log.
   */
  #list(before: readonly Json[], after: readonly unknown[], depth: number): Json | undefined {
    let start = 0;
    let oldEnd = before.length;
    let newEnd = after.length;
    const shorter = Math.min(oldEnd, newEnd);
    while (start < shorter && before[start] === after[start]) start += 1;
    while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) {
      oldEnd -= 1;
      newEnd -= 1;
    }
    const steps: Json[] = [];
    const gap = (from: number, to: number, newFrom: number, newTo: number): void => {
      // Of two gaps of unequal length, the first items are taken for the same ones; the rest was added or removed at the end.
      const pairs = Math.min(to - from, newTo - newFrom);
      let run: { index: number; removed: number; items: Json[] } | undefined;
      const flush = (): void => {
        if (run) steps.push(run.removed === 1 && run.items.length === 1 ? [run.index, run.items] : [run.index, run.removed, run.items]);
        run = undefined;
      };
      for (let offset = 0; offset < pairs; offset += 1) {
        const was = before[from + offset];
        if (was === undefined) break;
        const node = this.between(was, after[newFrom + offset], depth + 1);
        if (isList(node) && node.length === 1 && node[0] !== undefined) {
          run ??= { index: from + offset, removed: 0, items: [] };
          run.removed += 1;
          run.items.push(node[0]);
          continue;
        }
        flush();
        if (node !== undefined) steps.push([from + offset, node]);
      }
      const removed = to - from - pairs;
      if (removed > 0 || newTo - newFrom > pairs) {
        run ??= { index: from + pairs, removed: 0, items: [] };
        run.removed += removed;
        for (let index = newFrom + pairs; index < newTo; index += 1) run.items.push(this.#checked(after[index], depth + 1));
      }
      flush();
    };
    let from = start;
    let newFrom = start;
    for (const [index, newIndex] of matches(before, after, start, oldEnd, newEnd)) {
      gap(from, index, newFrom, newIndex);
      from = index + 1;
      newFrom = newIndex + 1;
    }
    gap(from, oldEnd, newFrom, newEnd);
    return steps.length === 0 ? undefined : [STEPS, ...steps];
  }
}

type Unchecked = Readonly<Record<string, unknown>>;
type Pair = readonly [index: number, newIndex: number];

/** A patch has keys in the order of the object, whatever order they were written in. */
const inOrder = (keys: readonly string[], object: object): readonly string[] =>
  keys.length < 2 ? keys : Object.keys(object).filter((key) => keys.includes(key));

const INDEX = /^(?:0|[1-9]\d{0,9})$/u;
/** Such keys come first and ascending in every object, so they cannot be out of order. */
const isIndex = (key: string): boolean => INDEX.test(key) && Number(key) < 4_294_967_295;

/** The keys that stay where they are. Writes the removed ones to the patch. */
function keysInPlace(
  before: object,
  after: object,
  old: readonly string[],
  now: readonly string[],
  patch: Record<string, Json>,
): Set<string> {
  const inPlace = new Set<string>();
  let next = 0;
  while (next < now.length && isIndex(now[next] ?? "")) next += 1;
  for (const key of old) {
    if (!Object.hasOwn(after, key)) setOwn(patch, key, REMOVED);
    else if (isIndex(key)) inPlace.add(key);
    else if (now[next] === key) {
      inPlace.add(key);
      next += 1;
    }
  }
  return inPlace;
}

/** Pairs of indices, both ascending, that hold the identical item. */
function matches(before: readonly Json[], after: readonly unknown[], start: number, oldEnd: number, newEnd: number): readonly Pair[] {
  if (start === oldEnd || start === newEnd) return [];
  const inPlace: Pair[] = [];
  const most = Math.min(oldEnd, newEnd);
  for (let index = start; index < most; index += 1) if (before[index] === after[index]) inPlace.push([index, index]);
  if (inPlace.length * 2 >= most - start) return inPlace;
  const indices = new Map<unknown, number[]>();
  for (let index = oldEnd - 1; index >= start; index -= 1) {
    const known = indices.get(before[index]);
    if (known) known.push(index);
    else indices.set(before[index], [index]);
  }
  const moved: Pair[] = [];
  let cursor = start;
  for (let newIndex = start; newIndex < newEnd; newIndex += 1) {
    const left = indices.get(after[newIndex]);
    let index = left?.pop();
    while (index !== undefined && index < cursor) index = left?.pop();
    if (index === undefined) continue;
    moved.push([index, newIndex]);
    cursor = index + 1;
  }
  return moved.length > inPlace.length ? moved : inPlace;
}

// ── applying one ────────────────────────────────────────────────────────────

const invalidPatch = (why: string): StoreError =>
  new StoreError("STORE_CORRUPT", `A patch does not fit the state before it: ${why}. Verify the chain; restore it from a copy.`);

/** The state after a patch. Shares what did not change, never writes to `state`. Throws `STORE_CORRUPT` for what `diff` cannot have made. */
export const apply = (state: Json, patch: Json): Json => applyNode(state, patch, 0);

function applyNode(state: Json, node: Json, depth: number): Json {
  if (depth > MAX_DEPTH) throw invalidPatch("it is nested too deep");
  if (isList(node)) {
    const [value, ...steps] = node;
    if (value === undefined) throw invalidPatch("it has an empty change");
    if (steps.length === 0) return value;
    if (value !== STEPS || !isList(state)) throw invalidPatch("it changes items of what is no list");
    return applySteps(state, steps, depth);
  }
  if (!isJsonObject(node)) throw invalidPatch("it has an unknown change");
  if (!isJsonObject(state)) throw invalidPatch("it changes keys of what is no object");
  return applyKeys(state, node, depth);
}

function applyKeys(state: JsonObject, node: JsonObject, depth: number): Json {
  const result: Record<string, Json> = { ...state };
  const before = (key: string): Json => {
    const was = getOwn(state, key);
    if (was === undefined) throw invalidPatch("it changes a key that is not there");
    return was;
  };
  for (const key of Object.keys(node)) {
    const inner = node[key];
    if (inner === undefined) continue;
    if (inner === REMOVED) {
      before(key);
      delete result[key];
    } else if (isList(inner) && inner.length === 2 && inner[0] === MOVED) {
      const was = before(key);
      const change = inner[1] ?? null;
      delete result[key];
      setOwn(result, key, change === null ? was : applyNode(was, change, depth + 1));
    } else if (isList(inner) && inner.length === 1 && inner[0] !== undefined) setOwn(result, key, inner[0]);
    else setOwn(result, key, applyNode(before(key), inner, depth + 1));
  }
  return result;
}

function applySteps(state: readonly Json[], steps: readonly Json[], depth: number): Json {
  const result: Json[] = [];
  let at = 0;
  for (const step of steps) {
    if (!isList(step)) throw invalidPatch("it has an unknown step");
    const [index, second, items] = step;
    if (typeof index !== "number" || !Number.isInteger(index) || index < at || index > state.length)
      throw invalidPatch("a step is out of order");
    while (at < index) result.push(state[at++] ?? null);
    if (step.length === 2 && second !== undefined) {
      const was = state[at++];
      if (was === undefined) throw invalidPatch("it changes an item that is not there");
      result.push(applyNode(was, second, depth + 1));
    } else if (step.length === 3 && typeof second === "number" && Number.isInteger(second) && second >= 0 && isList(items)) {
      if (at + second > state.length) throw invalidPatch("it removes items that are not there");
      at += second;
      for (const item of items) result.push(item);
    } else throw invalidPatch("it has an unknown step");
  }
  while (at < state.length) result.push(state[at++] ?? null);
  return result;
}
