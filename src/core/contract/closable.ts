// Owns: how everything that opens something ends. Does not own: what is opened.

/** Ends by `await using`, or by `close()` where no block encloses its use; both do the same, once. */
export interface Closable extends AsyncDisposable {
  close(): Promise<void>;
}
