import {
  type Bag,
  type CallOptions,
  type Catalogue,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { LISTS } from "./refs.ts";
import { unknownOffer } from "./refused.ts";
import { describeSource, sourceWords } from "./source-name.ts";
import { uriOf } from "./uri.ts";

/**
 * Several sources as one. Two offers of one name or one URI are an error naming both sources (`NAME_COLLISION`), thrown
 * where they first meet: from `surface`. A call goes to the source that knows the name now.
 */
export function merge(...sources: readonly Source[]): Source {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) return only;
  const source = new Merged(sources);
  describeSource(source, sources.map(sourceWords).join(" with "));
  return source;
}

interface Joined {
  readonly parts: readonly Catalogue[];
  readonly catalogue: Catalogue;
}

class Merged implements Source {
  readonly #sources: readonly Source[];
  readonly #catalogues: Joined[] = [];
  readonly #surfaces = new WeakMap<Surface, { readonly parts: readonly Surface[]; readonly surface: Surface }[]>();

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
  }

  get instructions(): string | undefined {
    const texts = this.#sources.flatMap(({ instructions }) => (instructions === undefined || instructions === "" ? [] : [instructions]));
    return texts.length === 0 ? undefined : texts.join("\n\n");
  }

  async surface(viewer: Viewer): Promise<Surface> {
    const parts = await Promise.all(this.#sources.map(async (source) => source.surface(viewer)));
    const [first] = parts;
    if (first === undefined) return EMPTY;
    const known = this.#surfaces.get(first) ?? [];
    const found = known.find((one) => sameParts(one.parts, parts));
    if (found !== undefined) return found.surface;
    const surface = this.#join(parts);
    // The same parts are the same object: what is listed of it is found again. A few viewers may share a first part.
    this.#surfaces.set(first, [{ parts, surface }, ...known].slice(0, 16));
    return surface;
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    const parts: Catalogue[] = [];
    for (const source of this.#sources) {
      const part = source.catalogue?.(viewer);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return this.#joinCatalogues(parts);
  }

  /** Asked one after the other: who does not know the name does nothing. */
  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    let last: Reply = unknownOffer;
    for (const source of this.#sources) {
      const reply = await source.act(viewer, ref, args, options);
      if (!("refused" in reply) || reply.refused.code !== "UNKNOWN") return reply;
      last = reply;
    }
    return last;
  }

  watch(viewer: Viewer, dirty: (ref?: OfferRef) => void, only?: { readonly ref: OfferRef; readonly args: Json }): () => void {
    const undo = this.#sources.map((source) => source.watch(viewer, dirty, only));
    return () => {
      for (const one of undo) one();
    };
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    for (const source of this.#sources) {
      const values = (await source.complete?.(viewer, ref, argument, value, others)) ?? [];
      if (values.length > 0) return values;
    }
    return [];
  }

  #join(parts: readonly Surface[]): Surface {
    const catalogue = this.#joinCatalogues(parts.map((part) => part.catalogue));
    const off = Object.assign({}, ...parts.map((part) => part.off));
    const choices = Object.assign({}, ...parts.map((part) => part.choices ?? {}));
    const links = Object.assign({}, ...parts.map((part) => part.links ?? {}));
    // Also an empty one says something: that this part's catalogue is not known ahead.
    const open = parts.some((part) => part.links !== undefined);
    return {
      catalogue,
      off,
      ...(Object.keys(choices).length === 0 ? {} : { choices }),
      ...(open ? { links } : {}),
    };
  }

  #joinCatalogues(parts: readonly Catalogue[]): Catalogue {
    const known = this.#catalogues.find((one) => sameParts(one.parts, parts));
    if (known !== undefined) return known.catalogue;
    const lists: Record<ListName, Offer[]> = { tools: [], resources: [], prompts: [] };
    const taken = new Map<string, number>();
    for (const [position, part] of parts.entries()) {
      for (const list of LISTS) {
        for (const offer of part[list]) {
          this.#take(taken, `${list}/${offer.name}`, position);
          const uri = uriOf(offer.definition);
          if (uri !== "") this.#take(taken, `the URI ${uri}`, position);
          lists[list].push(offer);
        }
      }
    }
    const catalogue: Catalogue = {
      tools: Object.freeze(lists.tools),
      resources: Object.freeze(lists.resources),
      prompts: Object.freeze(lists.prompts),
    };
    this.#catalogues.unshift({ parts, catalogue });
    if (this.#catalogues.length > 64) this.#catalogues.pop();
    return catalogue;
  }

  #take(taken: Map<string, number>, what: string, position: number): void {
    const other = taken.get(what);
    if (other === undefined) {
      taken.set(what, position);
      return;
    }
    const words = (at: number): string => {
      const source = this.#sources[at];
      return source === undefined ? "" : sourceWords(source, at);
    };
    throw new TroupeError(
      "NAME_COLLISION",
      `${what} is offered by ${words(other)} and by ${words(position)}: put one under a prefix with prefix().`,
    );
  }
}

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };

function sameParts<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}
