// The canonical ABI of Theater's world. The runtime never frees memory: everything that a call allocates is released after the
// host has read the result. So a guest's globals may hold numbers, but no objects.

/** Called by the host to allocate memory for arguments. */
export function cabi_realloc(old: usize, oldLength: usize, align: usize, length: usize): usize {
  if (length == 0) return align;
  const at = heap.alloc(length);
  if (old != 0) memory.copy(at, old, min(oldLength, length));
  return at;
}

/** Called by the host after it has read a result. Releases all memory of the call. */
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

/** Allocates a zeroed area for a result. */
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

/** The result of a handler: the next state. */
export function state(next: ArrayBuffer | null): usize {
  const at = area(32);
  putOptional(at + 4, next);
  return at;
}

/** The next state and a reply. Without a reply, the guest responds later. */
export function answer(next: ArrayBuffer | null, reply: ArrayBuffer | null): usize {
  const at = state(next);
  putOptional(at + 16, reply);
  return at;
}

/** The next state, and whether a channel is accepted. */
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
