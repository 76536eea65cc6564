// The canonical ABI of Theater's world, by hand. Built with the runtime that never frees: what a call allocates is given
// back at once after the host has read its result, so a guest's globals may hold numbers, and no objects.

/** How the host makes room for what it passes. */
export function cabi_realloc(old: usize, oldLength: usize, align: usize, length: usize): usize {
  if (length == 0) return align;
  const at = heap.alloc(length);
  if (old != 0) memory.copy(at, old, min(oldLength, length));
  return at;
}

/** Called by the host after it has read a result. */
export function post(_result: usize): void {
  heap.reset();
}

export function bytes(at: usize, length: usize): ArrayBuffer {
  const copy = new ArrayBuffer(<i32>length);
  memory.copy(changetype<usize>(copy), at, length);
  return copy;
}

export function optional(has: i32, at: usize, length: usize): ArrayBuffer | null {
  return has == 0 ? null : bytes(at, length);
}

export function text(at: usize, length: usize): string {
  return String.UTF8.decodeUnsafe(at, length);
}

export function utf8(from: string): ArrayBuffer {
  return String.UTF8.encode(from);
}

export function decoded(from: ArrayBuffer): string {
  return String.UTF8.decode(from);
}

/** Where the pieces of a result go; zero to begin with. */
export function area(size: usize): usize {
  const at = heap.alloc(size);
  memory.fill(at, 0, size);
  return at;
}

export function putBytes(at: usize, from: ArrayBuffer): void {
  store<usize>(at, changetype<usize>(from));
  store<i32>(at + 4, from.byteLength);
}

export function putOptional(at: usize, from: ArrayBuffer | null): void {
  if (from === null) return;
  store<u8>(at, 1);
  putBytes(at + 4, from);
}

/** The state a handler leaves. */
export function state(next: ArrayBuffer | null): usize {
  const at = area(32);
  putOptional(at + 4, next);
  return at;
}

/** The state and an answer; without one it comes later. */
export function answer(next: ArrayBuffer | null, reply: ArrayBuffer | null): usize {
  const at = state(next);
  putOptional(at + 16, reply);
  return at;
}

/** The state and what becomes of a channel. */
export function channel(next: ArrayBuffer | null, accepted: bool, message: ArrayBuffer | null): usize {
  const at = state(next);
  store<u8>(at + 16, accepted ? 1 : 0);
  putOptional(at + 20, message);
  return at;
}

export function failed(message: string): usize {
  const at = area(12);
  store<u8>(at, 1);
  putBytes(at + 4, utf8(message));
  return at;
}
