import type { Collected, ContentStore, Digest } from "../core/contract/index.ts";

/** A content store that guests know before its directory is taken. */
export class LateContents implements ContentStore {
  #store: ContentStore | undefined;

  get isOpen(): boolean {
    return this.#store !== undefined;
  }

  open(store: ContentStore): void {
    this.#store = store;
  }

  put(bytes: Uint8Array, space?: string): Promise<Digest> {
    return this.#there().put(bytes, space);
  }

  get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#there().get(digest);
  }

  has(digest: Digest): Promise<boolean> {
    return this.#there().has(digest);
  }

  label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    return this.#there().label(space, label, digest);
  }

  labelled(space: string, label: string): Promise<Digest | undefined> {
    return this.#there().labelled(space, label);
  }

  labels(space: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#there().labels(space, limit, after);
  }

  contents(space: string, limit: number, after?: Digest): ReturnType<ContentStore["contents"]> {
    return this.#there().contents(space, limit, after);
  }

  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    return this.#there().collect(live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }

  #there(): ContentStore {
    if (this.#store === undefined) throw new Error("A guest ran before there was a place for its contents.");
    return this.#store;
  }
}
