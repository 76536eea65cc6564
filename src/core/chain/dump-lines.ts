import { StoreError } from "../contract/index.ts";

/** A line of an export, its newline not counted: what a state of any sane policy fits in, and a process that reads it can hold. */
export const LONGEST_LINE = 16 * 1_048_576;

const NEWLINE = 10;
/** So many pieces of one line are joined at once: a stream of single bytes must not become as many objects. */
const MOST_PIECES = 1_024;

const corrupt = (message: string): StoreError => new StoreError("STORE_CORRUPT", message);

const tooLong = (line: number): StoreError =>
  corrupt(`Line ${line} is longer than ${LONGEST_LINE} bytes: this is no export. Name a file that "troupe export" wrote.`);

/** The lines of a stream, without their newlines. Throws `STORE_CORRUPT` for one that is too long, or that ends without a newline. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let line = 1;
  const take = (piece: Uint8Array): void => {
    bytes += piece.length;
    if (bytes > LONGEST_LINE) throw tooLong(line);
    pieces.push(piece);
    if (pieces.length === MOST_PIECES) pieces = [Buffer.concat(pieces)];
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      yield pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      line += 1;
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  }
  if (bytes > 0) throw corrupt(`The export is cut off in line ${line}: take a whole copy of it.`);
}
