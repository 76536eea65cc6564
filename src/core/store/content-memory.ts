import type { Collected, ContentStore, Digest } from "../contract/index.ts";
import { MultiMap } from "../contract/internal.ts";
import {
  absent,
  bounded,
  checkLabel,
  checkPiece,
  checkSpace,
  checkTotal,
  closed,
  digestOf,
  PIECE_BYTES,
  type ContentBounds,
} from "./content-bounds.ts";

/** As SQLite orders texts, and not as JavaScript does. */
const inOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const MEMORY_BYTES = 1024 * 1024 * 1024;

/** Contents of one process: gone with it. */
export function memoryContents(options: Partial<ContentBounds> = {}): ContentStore {
  const bounds = { pieceBytes: PIECE_BYTES, totalBytes: MEMORY_BYTES, ...options };
  return new MemoryContents(bounds);
}

class MemoryContents implements ContentStore {
  readonly #bounds: ContentBounds;
  readonly #pieces = new Map<Digest, Uint8Array>();
  readonly #spaces = new MultiMap<string, Digest>();
  readonly #labels = new Map<string, Map<string, Digest>>();
  /** What was put since each collection under way began. */
  readonly #fresh = new Set<Set<Digest>>();
  #bytes = 0;
  #open = true;

  constructor(bounds: ContentBounds) {
    this.#bounds = bounds;
  }

  async put(bytes: Uint8Array, space?: string): Promise<Digest> {
    this.#check();
    checkPiece(bytes, this.#bounds);
    if (space !== undefined) checkSpace(space);
    const digest = digestOf(bytes);
    if (!this.#pieces.has(digest)) {
      checkTotal(this.#bytes + bytes.length, this.#bounds);
      this.#pieces.set(digest, bytes.slice());
      this.#bytes += bytes.length;
    }
    if (space !== undefined) this.#spaces.put(space, digest);
    for (const fresh of this.#fresh) fresh.add(digest);
    return digest;
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    this.#check();
    return this.#pieces.get(digest)?.slice();
  }

  async has(digest: Digest): Promise<boolean> {
    this.#check();
    return this.#pieces.has(digest);
  }

  async label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    this.#check();
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
    this.#check();
    return this.#labels.get(space)?.get(label);
  }

  async labels(space: string, limit: number, after = ""): Promise<readonly string[]> {
    this.#check();
    return page(this.#labels.get(space)?.keys() ?? [], limit, after);
  }

  async contents(space: string, limit: number, after = ""): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]> {
    this.#check();
    return page(this.#spaces.get(space) ?? [], limit, after).map((digest) => ({ digest, bytes: this.#pieces.get(digest)?.length ?? 0 }));
  }

  async collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    this.#check();
    const keep = new Set<Digest>();
    this.#fresh.add(keep);
    try {
      for await (const digest of live) keep.add(digest);
      this.#check();
      for (const labels of this.#labels.values()) for (const digest of labels.values()) keep.add(digest);
      let dropped = 0;
      let bytes = 0;
      for (const [digest, piece] of this.#pieces)
        if (!keep.has(digest)) {
          this.#drop(digest, piece);
          dropped += 1;
          bytes += piece.length;
        }
      return { kept: this.#pieces.size, dropped, bytes };
    } finally {
      this.#fresh.delete(keep);
    }
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

  #check(): void {
    if (!this.#open) throw closed();
  }
}

const page = (names: Iterable<string>, limit: number, after: string): readonly string[] =>
  [...names]
    .filter((name) => inOrder(name, after) > 0)
    .toSorted(inOrder)
    .slice(0, bounded(limit));
