import type { Reader } from "./reader.ts";

export interface Section {
  readonly id: number;
  /** Where its id stands, and where it is over. */
  readonly from: number;
  readonly to: number;
  readonly body: Reader;
}

/** A custom section, in modules and components alike: names, producers, and whatever else nothing depends on. */
const CUSTOM = 0;

/** Real ones have a hundred. */
const MAX_SECTIONS = 100_000;

/** All but the custom sections. Whoever takes one reads it to its end. `each` is called for custom ones too. */
export function* sections(reader: Reader, each?: () => void): Generator<Section> {
  for (let count = 0; !reader.done; count += 1) {
    if (count >= MAX_SECTIONS) throw reader.bad(`it has more than ${MAX_SECTIONS} sections`);
    each?.();
    const from = reader.at;
    const id = reader.u8();
    const body = reader.part(reader.u32());
    if (id === CUSTOM) {
      body.name();
      continue;
    }
    yield { id, from, to: body.end, body };
    if (!body.done) throw body.bad(`section ${id} has more bytes than content`);
  }
}

/** `magic`, version and layer. */
export function preamble(reader: Reader): string {
  const bytes = reader.part(8).rest();
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const MODULE = "0061736d01000000";
export const COMPONENT = "0061736d0d000100";
