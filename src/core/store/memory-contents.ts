// Owns: contents in memory. Does not own: what their names and sizes may be (rules.ts).

import { checkOptions, type Closable, type Collected, type ContentStore, type Digest } from "../contract/index.ts";
import { MultiMap } from "../contract/internal.ts";
import {
  absent,
  boundedLimit,
  checkLabel,
  checkPiece,
  checkSpace,
  checkTotal,
  closed,
  CONTENT_BOUNDS,
  type ContentBounds,
  digestOf,
  PIECE_BYTES,
} from "./rules.ts";

/** By UTF-8 bytes, as SQLite orders texts; JavaScript orders by UTF-16 units. */
const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const MEMORY_BYTES = 1024 * 1024 * 1024;

/** Contents that live as long as the process. */
export function memoryContents(options: Partial<ContentBounds> = {}): ContentStore & Closable {
  checkOptions("memoryContents", options, CONTENT_BOUNDS);
  const bounds = { pieceBytes: PIECE_BYTES, totalBytes: MEMORY_BYTES, ...options };
  return new MemoryContents(bounds);
}

class MemoryContents implements ContentStore, Closable {
  readonly #bounds: ContentBounds;
  readonly #pieces = new Map<Digest, Uint8Array>();
  readonly #spaces = new MultiMap<string, Digest>();
  readonly #labels = new Map<string, Map<string, Digest>>();
  /** For each collection in progress, what it must not drop. */
  readonly #collections = new Set<Set<Digest>>();
  #bytes = 0;
  #open = true;

  constructor(bounds: ContentBounds) {
    this.#bounds = bounds;
  }

  async put(bytes: Uint8Array, space?: string): Promise<Digest> {
    this.#checkOpen();
    checkPiece(bytes, this.#bounds);
    if (space !== undefined) checkSpace(space);
    const digest = digestOf(bytes);
    if (!this.#pieces.has(digest)) {
      checkTotal(this.#bytes + bytes.length, this.#bounds);
      this.#pieces.set(digest, bytes.slice());
      this.#bytes += bytes.length;
    }
    if (space !== undefined) this.#spaces.put(space, digest);
    for (const live of this.#collections) live.add(digest);
    return digest;
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    return this.#pieces.get(digest)?.slice();
  }

  async has(digest: Digest): Promise<boolean> {
    this.#checkOpen();
    return this.#pieces.has(digest);
  }

  async label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    this.#checkOpen();
    checkSpace(space);
    checkLabel(label);
    const labels = this.#labels.get(space) ?? new Map<string, Digest>();
    if (digest === undefined) labels.delete(label);
    else if (this.#pieces.has(digest)) labels.set(label, digest);
    else throw absent(digest);
    if (labels.size > 0) this.#labels.set(space, labels);
    else this.#labels.delete(space);
  }

  async labelled(space: string, label: string): Promise<Digest | undefined> {
    this.#checkOpen();
    return this.#labels.get(space)?.get(label);
  }

  async labels(space: string, limit: number, after = ""): Promise<readonly string[]> {
    this.#checkOpen();
    return page(this.#labels.get(space)?.keys() ?? [], limit, after);
  }

  async contents(space: string, limit: number, after = ""): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]> {
    this.#checkOpen();
    return page(this.#spaces.get(space) ?? [], limit, after).map((digest) => ({ digest, bytes: this.#pieces.get(digest)?.length ?? 0 }));
  }

  async collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    this.#checkOpen();
    const used = new Set<Digest>();
    this.#collections.add(used);
    try {
      for await (const digest of live) used.add(digest);
      this.#checkOpen();
      for (const labels of this.#labels.values()) for (const digest of labels.values()) used.add(digest);
      let dropped = 0;
      let bytes = 0;
      for (const [digest, piece] of this.#pieces)
        if (!used.has(digest)) {
          this.#drop(digest, piece);
          dropped += 1;
          bytes += piece.length;
        }
      return { kept: this.#pieces.size, dropped, bytes };
    } finally {
      this.#collections.delete(used);
    }
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
    this.#pieces.clear();
    this.#spaces.clear();
    this.#labels.clear();
  }

  #drop(digest: Digest, piece: Uint8Array): void {
    this.#pieces.delete(digest);
    this.#bytes -= piece.length;
    for (const space of this.#spaces.keys()) this.#spaces.take(space, digest);
  }

  #checkOpen(): void {
    if (!this.#open) throw closed("content store");
  }
}

const page = (names: Iterable<string>, limit: number, after: string): readonly string[] =>
  [...names]
    .filter((name) => compareBytes(name, after) > 0)
    .toSorted(compareBytes)
    .slice(0, boundedLimit(limit));
