import { type Bag, isBag, isList, type Json, StoreError } from "../contract/index.ts";
import { getOwn, setOwn } from "../contract/internal.ts";
import { MAX_DEPTH } from "./json-check.ts";
import { GONE, MOVED, STEPS } from "./patch-format.ts";

const unfit = (why: string): StoreError =>
  new StoreError("STORE_CORRUPT", `A patch does not fit the state before it: ${why}. Verify the chain; restore it from a copy.`);

/** The state after a patch. Shares what did not change, never writes to `state`. Refuses (`STORE_CORRUPT`) what `diff` could not have written. */
export const apply = (state: Json, patch: Json): Json => change(state, patch, 0);

function change(state: Json, node: Json, depth: number): Json {
  if (depth > MAX_DEPTH) throw unfit("it is nested too deep");
  if (isList(node)) {
    const [value, ...steps] = node;
    if (value === undefined) throw unfit("it has an empty change");
    if (steps.length === 0) return value;
    if (value !== STEPS || !isList(state)) throw unfit("it changes items of what is no list");
    return changeList(state, steps, depth);
  }
  if (!isBag(node)) throw unfit("it has an unknown change");
  if (!isBag(state)) throw unfit("it changes keys of what is no object");
  return changeObject(state, node, depth);
}

function changeObject(state: Bag, node: Bag, depth: number): Json {
  const result: Record<string, Json> = { ...state };
  const before = (key: string): Json => {
    const was = getOwn(state, key);
    if (was === undefined) throw unfit("it changes a key that is not there");
    return was;
  };
  for (const key of Object.keys(node)) {
    const inner = node[key];
    if (inner === undefined) continue;
    if (inner === GONE) {
      before(key);
      delete result[key];
    } else if (isList(inner) && inner.length === 2 && inner[0] === MOVED) {
      const was = before(key);
      const how = inner[1] ?? null;
      delete result[key];
      setOwn(result, key, how === null ? was : change(was, how, depth + 1));
    } else if (isList(inner) && inner.length === 1 && inner[0] !== undefined) setOwn(result, key, inner[0]);
    else setOwn(result, key, change(before(key), inner, depth + 1));
  }
  return result;
}

function changeList(state: readonly Json[], steps: readonly Json[], depth: number): Json {
  const result: Json[] = [];
  let at = 0;
  for (const step of steps) {
    if (!isList(step)) throw unfit("it has an unknown step");
    const [index, second, items] = step;
    if (typeof index !== "number" || !Number.isInteger(index) || index < at || index > state.length) throw unfit("a step is out of order");
    while (at < index) result.push(state[at++] ?? null);
    if (step.length === 2 && second !== undefined) {
      const was = state[at++];
      if (was === undefined) throw unfit("it changes an item that is not there");
      result.push(change(was, second, depth + 1));
    } else if (step.length === 3 && typeof second === "number" && Number.isInteger(second) && second >= 0 && isList(items)) {
      if (at + second > state.length) throw unfit("it removes items that are not there");
      at += second;
      for (const item of items) result.push(item);
    } else throw unfit("it has an unknown step");
  }
  while (at < state.length) result.push(state[at++] ?? null);
  return result;
}
