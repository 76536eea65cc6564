// Owns: all that a source offers at one time, by reference, and its surface. Does not own: what is offered (service-source.ts).
import {
  type CallOptions,
  type JsonObject,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { checkName, type Names, sameJson } from "../../mcp/source/index.ts";

/** Handles the calls of an offer. */
export type Handler = (viewer: Viewer, args: JsonObject, options: CallOptions) => Reply | Promise<Reply>;

interface Entry {
  readonly offer: Offer;
  readonly handler: Handler;
}

/** All offers at one time. Offers equal to those of the previous table are reused, since clients compare them by identity. */
export class OfferTable {
  #previous: OfferTable | undefined;
  readonly #names: Names;
  readonly #onFault: (error: TroupeError) => void;
  readonly #entries = new Map<OfferRef, Entry>();
  readonly #uris = new Map<string, OfferRef>();
  #surface: Surface | undefined;

  constructor(names: Names, onFault: (error: TroupeError) => void, previous?: OfferTable) {
    this.#names = names;
    this.#onFault = onFault;
    this.#previous = previous;
  }

  get(ref: OfferRef): Entry | undefined {
    return this.#entries.get(ref);
  }

  /** False if its name or URI is taken, or not one that clients can use. That offer is left out and reported as a fault. */
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
    const known = this.#previous?.get(ref)?.offer;
    const isSame = known !== undefined && known.action === offer.action && sameJson(known.definition, offer.definition);
    this.#entries.set(ref, { offer: isSame ? known : offer, handler });
    return true;
  }

  /** The surface of the previous table if a client would see no difference. Another order is no difference. */
  get surface(): Surface {
    if (this.#surface === undefined) {
      this.#surface = this.#buildSurface();
      // Otherwise the tables would form an ever longer chain.
      this.#previous = undefined;
    }
    return this.#surface;
  }

  #buildSurface(): Surface {
    const previous = this.#previous;
    if (previous !== undefined && previous.#entries.size === this.#entries.size) {
      const isSame = [...this.#entries].every(([ref, { offer }]) => previous.get(ref)?.offer === offer);
      if (isSame) return previous.surface;
    }
    const of = (list: ListName): readonly Offer[] => {
      const now = [...this.#entries].flatMap(([ref, { offer }]) => (ref.startsWith(`${list}/`) ? [offer] : []));
      // Per list: a list that only changed its order is reused, even if another list changed.
      const was = previous?.surface.catalogue[list] ?? [];
      const same = new Set(was);
      return was.length === now.length && now.every((offer) => same.has(offer)) ? was : now;
    };
    // `links` marks the lists as variable: what a service may offer later is unknown.
    return { catalogue: { tools: of("tools"), resources: of("resources"), prompts: [] }, off: {}, links: {} };
  }
}

function taken(what: string, consequence: string): TroupeError {
  return new TroupeError("NAME_COLLISION", `${what} is offered twice: ${consequence}. Name or hide one of them otherwise.`);
}
