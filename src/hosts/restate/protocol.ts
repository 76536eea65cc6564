// Owns: the frames of the server's service protocol, version 6, that a turn needs which waits for nothing. Does not own: all other
// frames (the SDK).
//
// A frame is a type, a length and a message of numbered fields.
/** The content type of requests and answers, which names the version. */
export const PROTOCOL = "application/vnd.restate.invocation.v6";

/** Header of a frame: type, flags, length. */
const HEADER_BYTES = 8;

const START = 0x0000;
const END = 0x0003;
const INPUT = 0x0400;
const OUTPUT = 0x0401;
const SET_STATE = 0x0403;
/** Types from here on are notifications, for example of a cancellation. */
const NOTIFICATIONS = 0x8000;

/** How the server starts an attempt. */
export interface InvocationStart {
  /** Key of the virtual object. */
  readonly key: string;
  /** All state of that key. Undefined if the server did not send all of it. */
  readonly state: ReadonlyMap<string, Buffer> | undefined;
  readonly input: Buffer;
  /** What earlier attempts added to the journal, after the input. */
  readonly journal: readonly Command[];
}

/** Neither property: a command that is not written here. */
interface Command {
  readonly output?: Buffer;
  /** Name of the state key that it sets. */
  readonly set?: string;
}

/** A number: more data is needed, at least that many bytes. Throws if it is something else. */
export function readInvocation(bytes: Buffer): InvocationStart | number {
  let start: StartMessage | undefined;
  let input: Buffer = NOTHING;
  const journal: Command[] = [];
  let entries = 0;
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const type = bytes.readUInt16BE(at);
    const end = at + HEADER_BYTES + bytes.readUInt32BE(at + 4);
    if (end > bytes.length) return end;
    const fields = new Fields(bytes, at + HEADER_BYTES, end);
    at = end;
    if (start === undefined) {
      if (type !== START) throw new RangeError("An invocation does not begin so.");
      start = readStart(fields);
      continue;
    }
    entries += 1;
    if (type === INPUT) input = contentOf(fields, 14);
    else if (type === OUTPUT) journal.push({ output: contentOf(fields, 14) });
    else if (type === SET_STATE) journal.push({ set: fieldOf(fields, 1).toString("utf8") });
    else if (type < NOTIFICATIONS) journal.push({});
    if (entries === start.entries) return { key: start.key, state: start.state, input, journal };
  }
  return at + HEADER_BYTES;
}

interface StartMessage {
  readonly key: string;
  readonly entries: number;
  readonly state: ReadonlyMap<string, Buffer> | undefined;
}

function readStart(fields: Fields): StartMessage {
  const state = new Map<string, Buffer>();
  let key = "";
  let entries = 0;
  let partial = false;
  while (fields.next())
    if (fields.field === 3) entries = fields.number;
    else if (fields.field === 4) {
      const entry = fields.inner();
      let name = "";
      let value: Buffer = NOTHING;
      while (entry.next())
        if (entry.field === 1) name = entry.bytes().toString("utf8");
        else if (entry.field === 2) value = entry.bytes();
      state.set(name, value);
    } else if (fields.field === 5) partial = fields.number !== 0;
    else if (fields.field === 6) key = fields.bytes().toString("utf8");
  return { key, entries, state: partial ? undefined : state };
}

/** Maximum length of 64 bits. */
const VARINT_BYTES = 10;

const NOTHING = Buffer.alloc(0);

function fieldOf(fields: Fields, wanted: number): Buffer {
  while (fields.next()) if (fields.field === wanted) return fields.bytes();
  return NOTHING;
}

/** The content of a value, which is a message of its own. */
function contentOf(fields: Fields, wanted: number): Buffer {
  while (fields.next()) if (fields.field === wanted) return fieldOf(fields.inner(), 1);
  return NOTHING;
}

/** Iterates over the fields of a message. */
class Fields {
  field = 0;
  /** The value of a numeric field; the length of any other. */
  number = 0;
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #from = 0;

  constructor(bytes: Buffer, at: number, end: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    const kind = tag % 8;
    this.number = kind === 1 ? 8 : kind === 5 ? 4 : this.#varint();
    this.#from = this.#at;
    if (kind !== 0) this.#at += this.number;
    if (kind === 3 || kind === 4 || this.#at > this.#end) throw new RangeError("This is no message.");
    return true;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(this.#from, this.#at);
  }

  inner(): Fields {
    return new Fields(this.#bytes, this.#from, this.#at);
  }

  /** Numbers that lose precision are not among the fields that are read. */
  #varint(): number {
    let number = 0;
    let unit = 1;
    const most = Math.min(this.#end, this.#at + VARINT_BYTES);
    for (;;) {
      // Without a limit, a number that never ends would block.
      if (this.#at >= most) throw new RangeError("This is no message.");
      const byte = this.#bytes[this.#at++] ?? 0;
      number += (byte & 0x7f) * unit;
      if (byte < 0x80) return number;
      unit *= 0x80;
    }
  }
}

export const outputFrame = (text: string): Buffer => frame(OUTPUT, undefined, OUTPUT_VALUE, text);
export const setFrame = (name: string, text: string): Buffer => frame(SET_STATE, name, SET_VALUE, text);

const NAME = 0x0a;
const CONTENT = 0x0a;
const OUTPUT_VALUE = 0x72;
const SET_VALUE = 0x1a;

/** After the last command: the invocation has ended. */
export const END_FRAME: Buffer = Buffer.alloc(HEADER_BYTES);
END_FRAME.writeUInt16BE(END, 0);

function frame(type: number, name: string | undefined, field: number, text: string): Buffer {
  const nameBytes = name === undefined ? 0 : Buffer.byteLength(name);
  const contentBytes = Buffer.byteLength(text);
  const valueBytes = 1 + varintBytes(contentBytes) + contentBytes;
  const length = (name === undefined ? 0 : 1 + varintBytes(nameBytes) + nameBytes) + 1 + varintBytes(valueBytes) + valueBytes;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length);
  bytes.writeUInt16BE(type, 0);
  bytes.writeUInt16BE(0, 2);
  bytes.writeUInt32BE(length, 4);
  let at = HEADER_BYTES;
  if (name !== undefined) {
    at = writeTag(bytes, at, NAME, nameBytes);
    at += bytes.write(name, at, "utf8");
  }
  at = writeTag(bytes, at, field, valueBytes);
  at = writeTag(bytes, at, CONTENT, contentBytes);
  bytes.write(text, at, "utf8");
  return bytes;
}

function varintBytes(number: number): number {
  let bytes = 1;
  for (let rest = number; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

function writeTag(bytes: Buffer, from: number, tag: number, length: number): number {
  let at = bytes.writeUInt8(tag, from);
  let rest = length;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) at = bytes.writeUInt8((rest % 0x80) + 0x80, at);
  return bytes.writeUInt8(rest, at);
}
