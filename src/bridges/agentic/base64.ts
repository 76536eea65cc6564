// Not Buffer: a service may live in a browser. A call takes only so many arguments, so bytes are turned in pieces.
const PIECE = 8_192;

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

/** Undefined: it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** A value that is nothing but bytes; undefined: it is something else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer || isShared(value)) return new Uint8Array(value);
  if (value instanceof DataView || value instanceof Uint8ClampedArray)
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}

// A page that is not isolated from others has no such thing.
function isShared(value: unknown): value is SharedArrayBuffer {
  return typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer;
}
