import { type Bag, isBag } from "../../core/contract/index.ts";
import { faultOf } from "./failures.ts";
import { type Listed, type ListingOptions, readLists } from "./listing.ts";

export interface ListsOptions extends Omit<ListingOptions, "capabilities"> {
  /** What the server said of itself, once it has. */
  readonly said: () => Promise<Bag>;
}

/** A server's lists as they were read last. */
export class Lists {
  readonly #own: ListsOptions;
  #listed: Listed | undefined;
  #stale = true;
  #reading: Promise<Listed> | undefined;

  constructor(own: ListsOptions) {
    this.#own = own;
  }

  /** Undefined: they have to be read first. */
  get known(): Listed | undefined {
    return this.#stale ? undefined : this.#listed;
  }

  /** The server told that they are others now. */
  changed(): void {
    this.#stale = true;
  }

  /** Read once for all who ask meanwhile. Rejects where they were never read. */
  async get(): Promise<Listed> {
    if (this.known !== undefined) return this.known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  // What changes while it is read is read again, but not for ever.
  async #read(): Promise<Listed> {
    const said = await this.#own.said().catch((error: unknown) => {
      throw faultOf(error, "initialize");
    });
    const capabilities = isBag(said["capabilities"]) ? said["capabilities"] : {};
    for (let round = 0; ; round += 1) {
      this.#stale = false;
      try {
        this.#listed = await readLists({ ...this.#own, capabilities }, this.#listed);
      } catch (error) {
        this.#stale = true;
        if (this.#listed === undefined) throw faultOf(error, "Reading its lists");
        // What is served beside it must not go with it.
        this.#own.fault(error);
        return this.#listed;
      }
      if (!this.#stale || round === 2) return this.#listed;
    }
  }
}
