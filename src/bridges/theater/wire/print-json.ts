import { wellFormed } from "../../../core/contract/internal.ts";
import { printByteList } from "./byte-lists.ts";
import { WireError } from "./wire-error.ts";

/** A value to print as JSON. Bytes become a list of numbers, as Rust's serde prints a `Vec<u8>`. Undefined fields are omitted. */
export type Printable =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Printable[]
  | { readonly [name: string]: Printable | undefined };

const isList = (value: Printable): value is readonly Printable[] => Array.isArray(value);

/** Compact JSON with keys in insertion order. Throws `WireError` if it is longer than `most` bytes. */
export function printJson(value: Printable, maxBytes: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  printPieces(value, (piece) => {
    length += piece.length;
    if (length > maxBytes) throw new WireError(`This answer is longer than the ${maxBytes} bytes that can be sent at once: ask for less.`);
    pieces.push(piece);
  });
  return Buffer.concat(pieces);
}

/** Prints the same text piece by piece, so that it need not be in memory as a whole. */
export function printPieces(value: Printable, write: (piece: Buffer) => void): void {
  let text = "";

  const flush = (): void => {
    if (text !== "") write(Buffer.from(text));
    text = "";
  };

  const print = (one: Printable): void => {
    if (one instanceof Uint8Array) {
      flush();
      printByteList(one, write);
    } else if (typeof one === "bigint") {
      text += String(one);
    } else if (one === null || typeof one !== "object") {
      text += wellFormed(JSON.stringify(one));
    } else if (isList(one)) {
      text += "[";
      for (const [at, item] of one.entries()) {
        if (at > 0) text += ",";
        print(item);
      }
      text += "]";
    } else {
      let separator = "{";
      for (const [name, field] of Object.entries(one)) {
        if (field === undefined) continue;
        text += `${separator}${wellFormed(JSON.stringify(name))}:`;
        separator = ",";
        print(field);
      }
      text += separator === "{" ? "{}" : "}";
    }
  };

  print(value);
  flush();
}
