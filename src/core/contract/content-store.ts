/** SHA-256 of some bytes, as 64 lower-case hex digits. */
export type Digest = string;

/** What was, and was not, in use. */
export interface Collected {
  readonly kept: number;
  readonly dropped: number;
  /** Of what was dropped. */
  readonly bytes: number;
}

/**
 * Bytes by their digest, and labels that name them, in spaces of their own. Safe to share: the same bytes are kept once.
 * Throws `StoreError` only; `STORE_CORRUPT` where kept bytes no longer are what their digest says.
 */
export interface ContentStore extends AsyncDisposable {
  /** Settles when durable. With a space, `contents` of that space tells of it. */
  put(bytes: Uint8Array, space?: string): Promise<Digest>;
  get(digest: Digest): Promise<Uint8Array | undefined>;
  has(digest: Digest): Promise<boolean>;
  /** A label names one digest; without one, the label is gone. Settles when durable. */
  label(space: string, label: string, digest: Digest | undefined): Promise<void>;
  labelled(space: string, label: string): Promise<Digest | undefined>;
  /** In the order of their names: at most `limit` after `after`. */
  labels(space: string, limit: number, after?: string): Promise<readonly string[]>;
  /** What was put into that space and has not been collected, in the order of digests. */
  contents(space: string, limit: number, after?: Digest): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]>;
  /** Drops what no label names and `live` does not: whatever is put while this runs stays. */
  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected>;
}
