import type { WitValue } from "../wit.ts";

/** Below it, a copy is cheaper than handing a buffer over. */
const WORTH_BYTES = 16_384;

function collect(value: WitValue, into: Set<ArrayBuffer>): void {
  if (value instanceof Uint8Array) {
    const { buffer } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= WORTH_BYTES && buffer.byteLength === value.byteLength) into.add(buffer);
  } else if (typeof value === "object") {
    for (const part of Object.values(value)) collect(part, into);
  }
}

/** Large buffers of values that nobody reads afterwards: they go to the other thread as they are. */
export function buffersOf(values: readonly WitValue[]): readonly ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const value of values) collect(value, buffers);
  return [...buffers];
}
