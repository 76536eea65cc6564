import type { ContentStore, Digest } from "../../../core/contract/index.ts";
import type { Jco } from "./find-jco.ts";
import type { Transpiled } from "./transpile.ts";

/** No guest's store is called so: theirs are called by UUIDs. */
const SPACE = "jco";
const PAGE = 100;

interface Kept extends Transpiled {
  readonly jco: string;
}

/** What jco made of components, by their digests, over restarts. Of another version it is made again. */
export class GlueStore {
  readonly #contents: ContentStore;

  constructor(contents: ContentStore) {
    this.#contents = contents;
  }

  async get(component: Digest, jco: Jco): Promise<Transpiled | undefined> {
    const digest = await this.#contents.labelled(SPACE, component);
    const bytes = digest === undefined ? undefined : await this.#contents.get(digest);
    if (bytes === undefined) return undefined;
    const kept: Kept = JSON.parse(Buffer.from(bytes).toString());
    return kept.jco === jco.version ? kept : undefined;
  }

  async put(component: Digest, jco: Jco, made: Transpiled): Promise<void> {
    const kept: Kept = { ...made, jco: jco.version };
    const digest = await this.#contents.put(Buffer.from(JSON.stringify(kept)));
    await this.#contents.label(SPACE, component, digest);
    await this.#forget(component);
  }

  /** Labels keep their contents from being collected: of components that are gone, they go too. */
  async #forget(but: Digest): Promise<void> {
    for (let after: string | undefined; ;) {
      const page = await this.#contents.labels(SPACE, PAGE, after);
      for (const component of page)
        if (component !== but && !(await this.#contents.has(component))) await this.#contents.label(SPACE, component, undefined);
      after = page.at(-1);
      if (page.length < PAGE) return;
    }
  }
}
