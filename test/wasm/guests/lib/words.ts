import { utf8 } from "../../../../examples/wasm/lib/abi";

/** A command's arguments, a word each; the last one takes the rest, so that it may hold spaces. */
export class Words {
  private rest: string;

  constructor(line: string) {
    this.rest = line;
  }

  next(): string {
    const end = this.rest.indexOf(" ");
    const word = end < 0 ? this.rest : this.rest.slice(0, end);
    this.rest = end < 0 ? "" : this.rest.slice(end + 1);
    return word;
  }

  last(): string {
    return this.rest;
  }
}

/** How the core functions want a string: where it is and how long. Kept alive by nothing, which the runtime forgives. */
export function at(encoded: ArrayBuffer): usize {
  return changetype<usize>(encoded);
}

export function encodedNext(words: Words): ArrayBuffer {
  return utf8(words.next());
}

export function encodedLast(words: Words): ArrayBuffer {
  return utf8(words.last());
}
