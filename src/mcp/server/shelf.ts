import type { Bag, ListName, OfferRef } from "../../core/contract/index.ts";
import type { Registry } from "../source/index.ts";
import type { Surroundings } from "./context.ts";

/** An entry as a list shows it to whoever may see all. */
export type Listed = Bag & { readonly name: string };

/** One of a server's three registries. */
export abstract class Shelf {
  protected readonly registry: Registry;
  protected readonly around: Surroundings;
  readonly #list: ListName;

  constructor(list: ListName, registry: Registry, around: Surroundings) {
    this.#list = list;
    this.registry = registry;
    this.around = around;
  }

  get size(): number {
    return this.registry.count(this.#list);
  }

  /** In the order they were registered. */
  list(): readonly Listed[] {
    return this.registry.catalogue({ scopes: [] })[this.#list].map(({ name, definition }) => ({ name, ...definition }));
  }

  has(name: string): boolean {
    return this.registry.has(this.refOf(name));
  }

  /** False: there was none. Clients hear that the list has changed; calls that run go on. */
  unregister(name: string): boolean {
    return this.registry.remove(this.refOf(name));
  }

  protected refOf(name: string): OfferRef {
    return `${this.#list}/${name}`;
  }
}
