/** Bounds of one JSON message, checked before it is parsed. */
export interface ValueLimits {
  /** Values of any kind in the whole message. */
  readonly values: number;
  /** Members of one object, those with equal names included. */
  readonly members: number;
}

/** The defaults of every transport and protocol. */
export const VALUE_LIMITS: ValueLimits = { values: 100_000, members: 10_000 };

/** What a JSON text holds. Where counting stopped at a limit, the numbers are those reached by then. */
export interface ValueCounts {
  readonly values: number;
  /** Of the object with the most. */
  readonly members: number;
  /** Lists and objects without content, which take the most memory for their text. */
  readonly empty: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SPACE = 0x20;
const UNLIMITED: ValueLimits = { values: Infinity, members: Infinity };
const encoder = new TextEncoder();
/** 1 for the bytes outside of texts that count. A long message has millions of others. */
const MARKS = Uint8Array.from({ length: 256 }, (_, byte) =>
  [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE].includes(byte) ? 1 : 0,
);

/**
 * Counts without parsing, in one pass over the bytes, and no further than the limits. An object of many members costs far more
 * to parse, walk and copy than its bytes suggest, so a message has to be refused before anything else looks at it.
 */
export function countValues(message: Uint8Array | string, limits: ValueLimits = UNLIMITED): ValueCounts {
  const bytes = typeof message === "string" ? encoder.encode(message) : message;
  // Members counted so far of the objects around the one being read.
  const outer: number[] = [];
  let values = 1;
  let empty = 0;
  let members = 0;
  let most = 0;
  for (let at = nextMark(bytes, 0); at < bytes.length; at = nextMark(bytes, at + 1)) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === COLON) {
      members += 1;
      if (members > most) most = members;
    } else if (byte === OPEN_LIST || byte === OPEN) {
      values += 1;
      outer.push(members);
      members = 0;
    } else if (byte === CLOSE_LIST || byte === CLOSE) {
      // An opening bracket was counted for the first value behind it.
      if (isOpening(bytes, at - 1)) {
        values -= 1;
        empty += 1;
      }
      members = outer.pop() ?? 0;
    }
    if (values > limits.values || most > limits.members) break;
  }
  return { values, members: most, empty };
}

/** Which limit a JSON text exceeds, as the start of a sentence; undefined: none. */
export function tooManyValues(message: Uint8Array | string, limits: ValueLimits): string | undefined {
  // A value takes at least two bytes and a member five: what is short need not be read.
  if (message.length < 2 * limits.values && message.length < 5 * limits.members) return undefined;
  const { values, members } = countValues(message, limits);
  if (members > limits.members) return `An object may have ${limits.members} members`;
  return values > limits.values ? `A message may hold ${limits.values} values` : undefined;
}

/** The next byte that counts, or where the message ends. */
function nextMark(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && MARKS[bytes[at] ?? 0] === 0) at += 1;
  return at;
}

/** The closing quote of a text, or where the message ends. */
function endOfText(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Whether what precedes, apart from white space, opens a list or an object: it is empty. */
function isOpening(bytes: Uint8Array, before: number): boolean {
  let at = before;
  while ((bytes[at] ?? Infinity) <= SPACE) at -= 1;
  return bytes[at] === OPEN_LIST || bytes[at] === OPEN;
}
