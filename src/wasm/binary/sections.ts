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

/** All but the custom sections. Whoever takes one reads it to its end. */
export function* sections(reader: Reader): Generator<Section> {
  while (!reader.done) {
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
