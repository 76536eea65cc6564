// An allocator that misbehaves once it was told to.
import { runtimeLog } from "../../../../examples/wasm/lib/imports";

export const HONEST = 0;
/** Out of its memory. */
export const OUTSIDE = 1;
/** Calls the host while the host passes a value, which the component model forbids. */
export const CALLS = 2;
export const SPINS = 3;
export const TRAPS = 4;
/** Not where the alignment wants it. */
export const CROOKED = 5;

let allocates = HONEST;
let finishes = HONEST;
let spun = 0;

export function nextAllocations(how: i32): void {
  allocates = how;
}

export function nextFinish(how: i32): void {
  finishes = how;
}

export function allocate(old: usize, oldLength: usize, align: usize, length: usize): usize {
  if (allocates == OUTSIDE) return <usize>0xffff_fff0;
  if (allocates == CALLS) runtimeLog(0, 0);
  if (allocates == SPINS) spin();
  if (allocates == TRAPS) unreachable();
  const at = heap.alloc(length + 16);
  if (old != 0) memory.copy(at, old, min(oldLength, length));
  return allocates == CROOKED ? at + 1 : at;
}

export function finished(): void {
  if (finishes == SPINS) spin();
  if (finishes == TRAPS) unreachable();
  if (finishes == CALLS) runtimeLog(0, 0);
  heap.reset();
}

export function spin(): void {
  while (true) spun++;
}
