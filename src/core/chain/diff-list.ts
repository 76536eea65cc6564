import { type Json, isList } from "../contract/index.ts";
import { STEPS, type Walk } from "./patch-format.ts";

/**
 * The change inside a list: `[0, step, …]`, a step being `[index, node]` (that item
 * changes) or `[index, removed, [items]]` (a splice). Indices count in the list
 * before any of it, ascending. Linear: a bounded log that drops its oldest line and
 * gains one is two short splices, not a new log.
 */
export function diffList(before: readonly Json[], after: readonly unknown[], depth: number, walk: Walk): Json | undefined {
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
    // Unequal lengths: the items at the beginning are held to be the same ones, the rest came or went at the end.
    const pairs = Math.min(to - from, newTo - newFrom);
    let run: { index: number; removed: number; items: Json[] } | undefined;
    const flush = (): void => {
      if (run) steps.push(run.removed === 1 && run.items.length === 1 ? [run.index, run.items] : [run.index, run.removed, run.items]);
      run = undefined;
    };
    for (let offset = 0; offset < pairs; offset += 1) {
      const was = before[from + offset];
      if (was === undefined) break;
      const node = walk.between(was, after[newFrom + offset], depth + 1);
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
      for (let index = newFrom + pairs; index < newTo; index += 1) run.items.push(walk.take(after[index], depth + 1));
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

/** Pairs of places that hold the very same item, both ascending. */
function matches(
  before: readonly Json[],
  after: readonly unknown[],
  start: number,
  oldEnd: number,
  newEnd: number,
): readonly (readonly [number, number])[] {
  if (start === oldEnd || start === newEnd) return [];
  const inPlace: [number, number][] = [];
  const most = Math.min(oldEnd, newEnd);
  for (let index = start; index < most; index += 1) if (before[index] === after[index]) inPlace.push([index, index]);
  if (inPlace.length * 2 >= most - start) return inPlace;
  const places = new Map<unknown, number[]>();
  for (let index = oldEnd - 1; index >= start; index -= 1) {
    const known = places.get(before[index]);
    if (known) known.push(index);
    else places.set(before[index], [index]);
  }
  const moved: [number, number][] = [];
  let cursor = start;
  for (let newIndex = start; newIndex < newEnd; newIndex += 1) {
    const left = places.get(after[newIndex]);
    let index = left?.pop();
    while (index !== undefined && index < cursor) index = left?.pop();
    if (index === undefined) continue;
    moved.push([index, newIndex]);
    cursor = index + 1;
  }
  return moved.length > inPlace.length ? moved : inPlace;
}
