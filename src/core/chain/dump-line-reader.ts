import { StoreError, type ChainEvent } from "../contract/index.ts";
import { DUMP_VERSION, type DumpLine, firstKey, readDumpText } from "./dump-format.ts";
import { linesOf } from "./dump-lines.ts";
import { DumpSum } from "./dump-sum.ts";
import { importLine } from "./event.ts";

export type ReadLine = DumpLine | { readonly line: "event"; readonly event: ChainEvent };

/** Keys a line may begin with: whether it has a sum. */
const SEALED: ReadonlyMap<string, boolean> = new Map([
  ["troupe", true],
  ["actor", false],
  ["key", false],
  ["end", true],
  ["message", true],
  ["letter", true],
  ["total", true],
]);

const WHOLE = 'name a file that "troupe export" wrote; a compressed one ends in .gz, or is unpacked before it comes through a pipe.';

/**
 * What the lines of an export say, each that has a sum held to it. The first is a beginning and the last a total, or it
 * throws `STORE_CORRUPT` (`STORE_NEWER` for a later version), naming the line. Events are not verified.
 */
export async function* dumpLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<{ readonly said: ReadLine; readonly bytes: number }> {
  const reader = new LineReader();
  let last: string | undefined;
  for await (const bytes of linesOf(chunks)) {
    if (last === "total") throw reader.corrupt("comes after the last line of this export: the file was put together from several");
    const said = reader.read(bytes);
    last = said.line;
    yield { said, bytes: bytes.length };
  }
  if (last === undefined) throw new StoreError("STORE_CORRUPT", `This export is empty: ${WHOLE}`);
  if (last !== "total") throw reader.cutOff();
}

const noExport = (): StoreError => new StoreError("STORE_CORRUPT", `This is no export: ${WHOLE}`);

class LineReader {
  readonly #sum = new DumpSum();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #at = 0;

  read(bytes: Uint8Array): ReadLine {
    this.#at += 1;
    const text = this.#text(bytes);
    if (this.#at === 1) {
      this.#begins(text);
      const said = this.#said("troupe", bytes, text);
      this.#sum.begin();
      return said;
    }
    if (!text.startsWith('{"id":')) return this.#said(firstKey(text) ?? "", bytes, text);
    this.#sum.plain(bytes);
    try {
      return { line: "event", event: importLine(text) };
    } catch (error) {
      throw this.corrupt("is no event as Troupe writes it: the file was changed", error);
    }
  }

  cutOff(): StoreError {
    return new StoreError("STORE_CORRUPT", `The export is cut off after line ${this.#at}: take a whole copy of it.`);
  }

  corrupt(why: string, cause?: unknown): StoreError {
    return new StoreError("STORE_CORRUPT", `Line ${this.#at} ${why}. Take another copy of the export, or export again.`, { cause });
  }

  #text(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes);
    } catch (error) {
      if (this.#at === 1) throw noExport();
      throw this.corrupt("is no text in UTF-8: the file was changed", error);
    }
  }

  #begins(text: string): void {
    if (firstKey(text) !== "troupe") throw noExport();
    const version = Number(/^\{"troupe":"export","version":(\d{1,9})[,}]/u.exec(text)?.[1] ?? DUMP_VERSION);
    if (version > DUMP_VERSION)
      throw new StoreError(
        "STORE_NEWER",
        `This export has version ${version}, this Troupe knows ${DUMP_VERSION}. Import it with the newer Troupe that wrote it.`,
      );
  }

  #said(key: string, bytes: Uint8Array, text: string): DumpLine {
    const sealed = SEALED.get(key);
    if (sealed === undefined)
      throw this.corrupt("is of a kind this version does not know: the file was changed, or a newer Troupe wrote it");
    let own = text;
    if (sealed) {
      const end = this.#sum.opened(bytes);
      if (end === undefined) throw this.corrupt("has a sum that does not fit: it was changed, or something before it");
      own = `${this.#decoder.decode(bytes.subarray(0, end))}}`;
    } else this.#sum.plain(bytes);
    const said = readDumpText(own);
    if (said === undefined || said.line !== key) throw this.corrupt("is not in the one form Troupe writes it in");
    return said;
  }
}
