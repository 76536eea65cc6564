const COMMA = 44;
const OPEN = 91;
const CLOSE = 93;
const ZERO = 48;

/** The length of a printed list, such as `[1,20,255]`. */
export function byteListLength(bytes: Uint8Array): number {
  if (bytes.length === 0) return 2;
  let length = bytes.length + 1;
  for (const byte of bytes) length += byte > 99 ? 3 : byte > 9 ? 2 : 1;
  return length;
}

/** Bytes per printed piece. */
const PIECE_BYTES = 65_536;

/** Prints `[1,20,255]` in pieces. Written by hand, since byte lists are most of what the protocol sends. */
export function printByteList(bytes: Uint8Array, write: (piece: Buffer) => void): void {
  for (let from = 0; from === 0 || from < bytes.length; from += PIECE_BYTES) {
    const piece = printList(bytes.subarray(from, from + PIECE_BYTES));
    if (from > 0) piece[0] = COMMA;
    write(from + PIECE_BYTES < bytes.length ? piece.subarray(0, -1) : piece);
  }
}

function printList(bytes: Uint8Array): Buffer {
  const text = Buffer.allocUnsafe(byteListLength(bytes));
  text[0] = OPEN;
  let at = 1;
  for (const byte of bytes) {
    if (byte > 99) {
      text[at++] = ZERO + Math.trunc(byte / 100);
      text[at++] = ZERO + (Math.trunc(byte / 10) % 10);
    } else if (byte > 9) text[at++] = ZERO + Math.trunc(byte / 10);
    text[at++] = ZERO + (byte % 10);
    text[at++] = COMMA;
  }
  text[bytes.length === 0 ? at : at - 1] = CLOSE;
  return text;
}

const isSpace = (code: number | undefined): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/**
 * Reads a list of bytes that begins at `at`, after its bracket, and returns where it ends. Undefined if it holds anything but integers
 * from 0 to 255.
 */
export function readByteList(text: Uint8Array, at: number): { readonly bytes: Uint8Array; readonly next: number } | undefined {
  let end = at;
  let commas = 0;
  for (; end < text.length; end += 1) {
    const code = text[end] ?? 0;
    if (code === COMMA) commas += 1;
    else if ((code < ZERO || code > ZERO + 9) && !isSpace(code)) break;
  }
  if (text[end] !== CLOSE) return undefined;
  const bytes = new Uint8Array(commas + 1);
  let count = 0;
  let from = at;
  while (from < end) {
    while (isSpace(text[from])) from += 1;
    const first = from;
    let value = 0;
    for (let code = text[from] ?? 0; code >= ZERO && code <= ZERO + 9; code = text[(from += 1)] ?? 0) {
      value = value * 10 + code - ZERO;
      if (from - first > 2) return undefined;
    }
    const digits = from - first;
    if (digits === 0 || value > 255 || (digits > 1 && text[first] === ZERO)) return undefined;
    bytes[count++] = value;
    while (isSpace(text[from])) from += 1;
    if (from === end) break;
    if (text[from] !== COMMA) return undefined;
    from += 1;
  }
  return count === commas + 1 ? { bytes, next: end + 1 } : undefined;
}
