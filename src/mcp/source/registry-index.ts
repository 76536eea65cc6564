// Owns: the offers of a registry, and their surface for a viewer. Does not own: calls and subscribers (registry.ts).

import {
  type Catalogue,
  type ListName,
  type Offer,
  type OfferRef,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { missingScopes } from "../../core/contract/internal.ts";
import { Lru } from "./lru.ts";
import { type Names, uriOf } from "./names.ts";
import type { Definitions } from "./registry-definitions.ts";
import { entriesOf, type Entry, type ListedTemplate, type EnabledCheck } from "./registry-entry.ts";

const SURFACES_MAX = 256;
/** Of those with what stands behind templates, which may be long. */
const LISTED_SURFACES_MAX = 32;

/** A template whose values are listed. */
interface Listing {
  readonly ref: OfferRef;
  readonly behind: ListedTemplate;
  /** What a viewer must have to read what stands there. */
  readonly scopes: readonly string[];
}

/** The offers of a registry in the order they were added, their handlers, and the surface for a viewer. */
export class RegistryIndex {
  readonly #names: Names;
  readonly #fault: (error: TroupeError) => void;
  readonly #entries = new Map<OfferRef, Entry>();
  /** URI → the ref that has it. */
  readonly #uris = new Map<string, OfferRef>();
  readonly #counts = new Map<ListName, number>();
  #current: CatalogueSurfaces | undefined;

  constructor(names: Names, fault: (error: TroupeError) => void) {
    this.#names = names;
    this.#fault = fault;
  }

  /** All of them, or none. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`. */
  add(more: Definitions): readonly Entry[] {
    const entries = entriesOf(more, this.#names);
    const uris = new Map<string, OfferRef>();
    for (const { ref, offer } of entries) {
      if (this.#entries.has(ref))
        throw new TroupeError("NAME_COLLISION", `${ref} is there already: remove it first, or name the new one otherwise.`);
      const uri = uriOf(offer.definition);
      const other = this.#uris.get(uri) ?? uris.get(uri);
      if (other !== undefined) throw new TroupeError("NAME_COLLISION", `${other} and ${ref} have the same URI ${uri}: change one.`);
      if (uri !== "") uris.set(uri, ref);
    }
    for (const entry of entries) {
      this.#entries.set(entry.ref, entry);
      this.#counts.set(entry.list, this.count(entry.list) + 1);
    }
    for (const [uri, ref] of uris) this.#uris.set(uri, ref);
    this.renew();
    return entries;
  }

  remove(ref: OfferRef): boolean {
    const entry = this.#entries.get(ref);
    if (entry === undefined) return false;
    this.#entries.delete(ref);
    this.#counts.set(entry.list, this.count(entry.list) - 1);
    this.#uris.delete(uriOf(entry.offer.definition));
    this.renew();
    return true;
  }

  knows(ref: OfferRef): boolean {
    return this.#entries.has(ref);
  }

  count(list: ListName): number {
    return this.#counts.get(list) ?? 0;
  }

  has(entry: Entry): boolean {
    return this.#entries.get(entry.ref) === entry;
  }

  entry(ref: OfferRef): Entry | undefined {
    return this.#entries.get(ref);
  }

  surface(viewer: Viewer): Surface {
    return this.#now().surface(viewer);
  }

  catalogue(): Catalogue {
    return this.#now().catalogue;
  }

  /** Undefined: on; text: off, and why; true: off. Of one offer: a call asks nothing of the others. */
  whyOff(ref: OfferRef, viewer: Viewer): string | true | undefined {
    return this.#entries.get(ref)?.gate?.whyOff(viewer, this.#fault);
  }

  #now(): CatalogueSurfaces {
    return (this.#current ??= new CatalogueSurfaces([...this.#entries.values()], this.#fault));
  }

  /** The next surface has another catalogue. */
  renew(): void {
    this.#current = undefined;
  }
}

/** One catalogue, and its surfaces by what is off in them and what stands behind templates. */
class CatalogueSurfaces {
  readonly catalogue: Catalogue;
  readonly #open: Surface;
  readonly #fault: (error: TroupeError) => void;
  readonly #gates: readonly (readonly [OfferRef, EnabledCheck])[];
  readonly #behind: readonly Listing[];
  readonly #surfaces: Lru<string, Surface>;

  constructor(entries: readonly Entry[], fault: (error: TroupeError) => void) {
    this.#fault = fault;
    const offers = (list: ListName): readonly Offer[] => entries.filter((entry) => entry.list === list).map(({ offer }) => offer);
    this.catalogue = { tools: offers("tools"), resources: offers("resources"), prompts: offers("prompts") };
    this.#open = { catalogue: this.catalogue, off: {} };
    this.#gates = entries.flatMap(({ ref, gate }) => (gate === undefined ? [] : [[ref, gate] as const]));
    this.#behind = entries.flatMap(({ ref, behind, scopes }) => (behind === undefined ? [] : [{ ref, behind, scopes }]));
    this.#surfaces = new Lru(this.#behind.length > 0 ? LISTED_SURFACES_MAX : SURFACES_MAX);
  }

  surface(viewer: Viewer): Surface {
    if (this.#gates.length + this.#behind.length === 0) return this.#open;
    const off: Record<OfferRef, string | true> = {};
    for (const [ref, gate] of this.#gates) {
      const why = gate.whyOff(viewer, this.#fault);
      if (why !== undefined) off[ref] = why;
    }
    const choices: Record<OfferRef, Readonly<Record<string, readonly string[]>>> = {};
    for (const { ref, behind, scopes } of this.#behind)
      // What a viewer may not read has no names for it either.
      if (off[ref] === undefined && missingScopes(scopes, viewer.scopes).length === 0)
        choices[ref] = behind.choicesFor(viewer, this.#fault);
    const key = JSON.stringify([off, choices]);
    const known = this.#surfaces.get(key);
    if (known !== undefined) return known;
    const surface = { catalogue: this.catalogue, off, ...(this.#behind.length > 0 && { choices: structuredClone(choices) }) };
    this.#surfaces.set(key, surface);
    return surface;
  }
}
