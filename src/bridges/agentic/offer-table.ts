import {
  type JsonObject,
  type CallOptions,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { checkName, type Names, sameJson } from "../../mcp/source/index.ts";

/** What stands behind an offer. */
export type Handler = (viewer: Viewer, args: JsonObject, options: CallOptions) => Reply | Promise<Reply>;

export interface Entry {
  readonly offer: Offer;
  readonly handler: Handler;
}

/** All that is offered at a time. What is the same as in the book before is the same object, so that nothing seems to change. */
export class Book {
  #before: Book | undefined;
  readonly #names: Names;
  readonly #onFault: (error: TroupeError) => void;
  readonly #entries = new Map<OfferRef, Entry>();
  readonly #uris = new Map<string, OfferRef>();
  #surface: Surface | undefined;

  constructor(names: Names, onFault: (error: TroupeError) => void, before?: Book) {
    this.#names = names;
    this.#onFault = onFault;
    this.#before = before;
  }

  get(ref: OfferRef): Entry | undefined {
    return this.#entries.get(ref);
  }

  /** False where its name or URI is taken or not one that clients can use: that one offer is left out, and told as a fault. */
  add(list: ListName, offer: Offer, handler: Handler): boolean {
    const ref: OfferRef = `${list}/${offer.name}`;
    const uri = offer.definition["uri"] ?? offer.definition["uriTemplate"];
    try {
      checkName(this.#names, list, offer.name, "An AgenticService");
      if (this.#entries.has(ref)) throw taken(ref, "one is left out");
      if (typeof uri === "string" && this.#uris.has(uri)) throw taken(uri, `${this.#uris.get(uri) ?? ""} has it, ${ref} is left out`);
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      this.#onFault(error);
      return false;
    }
    if (typeof uri === "string") this.#uris.set(uri, ref);
    const known = this.#before?.get(ref)?.offer;
    const isSame = known !== undefined && known.action === offer.action && sameJson(known.definition, offer.definition);
    this.#entries.set(ref, { offer: isSame ? known : offer, handler });
    return true;
  }

  /** The surface of the book before where a client would see no difference: what only stands in another order is none. */
  get surface(): Surface {
    if (this.#surface === undefined) {
      this.#surface = this.#made();
      // A book that knew all before it would grow for ever.
      this.#before = undefined;
    }
    return this.#surface;
  }

  #made(): Surface {
    const before = this.#before;
    if (before !== undefined && before.#entries.size === this.#entries.size) {
      const isSame = [...this.#entries].every(([ref, { offer }]) => before.get(ref)?.offer === offer);
      if (isSame) return before.surface;
    }
    const of = (list: ListName): readonly Offer[] => {
      const now = [...this.#entries].flatMap(([ref, { offer }]) => (ref.startsWith(`${list}/`) ? [offer] : []));
      // Each list for itself: of one whose order alone is another nothing is told, though another list changed.
      const was = before?.surface.catalogue[list] ?? [];
      const same = new Set(was);
      return was.length === now.length && now.every((offer) => same.has(offer)) ? was : now;
    };
    // With links whose catalogue nobody knows: what a service can ever offer is not known ahead, so no list of it is constant.
    return { catalogue: { tools: of("tools"), resources: of("resources"), prompts: [] }, off: {}, links: {} };
  }
}

function taken(what: string, how: string): TroupeError {
  return new TroupeError("NAME_COLLISION", `${what} is offered twice: ${how}. Name or hide one of them otherwise.`);
}
